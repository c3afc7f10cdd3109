#pragma once

/// \file Numbers of one type as numbers of another: between the types that records have and those that models
/// of others take and return.

#include <string_view>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// Whether `cast_tensor` makes this type: bool, integers of 8 to 64 bits, float16, bfloat16, float32 and
/// float64.
bool is_castable(DataType type);

/// The same shape, with each value as the nearest of type `to`; a bool is whether it is not 0. Copies.
/// Integers that do not fit are refused, and so are floating-point numbers as integers other than bool.
/// Floating-point numbers that are too large become infinite.
/// \param name  of the tensor, for messages
/// \error kInvalidArgument  a value does not fit; it is named
/// \error kUnimplemented    one of the types is not castable
Result<Tensor> cast_tensor(std::string_view name, const TensorView& from, DataType to);

}  // namespace headrace
