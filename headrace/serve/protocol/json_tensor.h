#pragma once

/// \file Nested lists of JSON as tensors: their shapes, and their values written into rows of a batch.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/tensor.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/json_document.h"

namespace headrace {

/// Whether a value is {"b64": "…"}, a byte string in base64.
bool is_json_base64(const JsonNode& value);

/// The shape of the tensor that a value is, for an input of the shape `wanted`: open sizes are those of the
/// first list of each level; behind an empty list they are 0. Looks at no other value: read_json_tensor does.
/// \error kInvalidArgument  lists nest more or less deeply, or the first of a level has another size
Result<Shape> shape_of_json(const JsonNode& value, const Shape& wanted);

/// Bytes of all byte strings of a tensor of this shape, after base64.
/// \error kInvalidArgument  as read_json_tensor, which finds the same faults and some more
Result<std::uint64_t> texts_bytes_of_json(const JsonNode& value, const Shape& shape);

/// Writes a value of this type and shape into the row of an input. Byte strings are strings of JSON, as
/// UTF-8, or is_json_base64.
/// \error kInvalidArgument  a value is of another type or out of range (read_json_numbers says what fits), a
///                          list is of another size, base64 is damaged; the message says at which index
/// REQUIRES: can_be_json(type), the row has that shape
Status read_json_tensor(const JsonNode& value, DataType type, const Shape& shape, ReservedRows& rows,
                        std::size_t input, std::uint64_t row);

/// Appends the strings of nested lists of this shape, which the document keeps.
/// \error kInvalidArgument  a value is no string, or a list of another size
Status append_texts_of_json(const JsonNode& value, const Shape& shape, std::vector<std::string_view>& texts);

/// The reason why read_json_numbers refuses a value of this shape.
/// REQUIRES: it did
Error json_misfit(const JsonNode& value, DataType type, const Shape& shape);

/// Whether values of this type can come as JSON: byte strings, or has_json_numbers.
bool can_be_json(DataType type);

/// A few words about a value, for a message: the beginning of a scalar, the size of a list.
std::string describe_json(const JsonNode& value);

}  // namespace headrace
