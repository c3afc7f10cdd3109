#pragma once

/// \file Casts tensors of numbers between the types that records have and the types that foreign models take
/// and return.

#include <string_view>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// True if `cast_tensor` takes and makes this type: bool, integers of 8 to 64 bits, float16, bfloat16,
/// float32 and float64.
bool is_castable(DataType type);

/// Copies a tensor, with each value converted to the nearest value of type `to`. As bool, every value but 0
/// is true. Refuses integers that do not fit, and floating-point numbers as integers other than bool.
/// Floating-point numbers that are too large become infinite.
/// \param name  the tensor's name in messages
/// \error kInvalidArgument  a value does not fit; the message names it
/// \error kUnimplemented    one of the types is not castable
Result<Tensor> cast_tensor(std::string_view name, const TensorView& from, DataType to);

}  // namespace headrace
