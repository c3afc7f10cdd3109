#pragma once

/// \file Texts of Python's keyword arguments as the engine's enumerations; an unknown one raises, naming
/// those that there are.

#include <string_view>

#include "headrace/codec/image/resize.h"
#include "headrace/record/example.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/order.h"

namespace headrace::python {

CorruptionPolicy policy_of(std::string_view name);
ShuffleMode shuffle_mode_of(std::string_view name);
DataType data_type_of(std::string_view name);
ResizeMethod resize_method_of(std::string_view name);

}  // namespace headrace::python
