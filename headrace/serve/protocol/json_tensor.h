#pragma once

/// \file Reads nested JSON lists as tensors: finds their shapes, and writes their values into a batch.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/tensor.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/json_document.h"

namespace headrace {

/// Whether a value is {"b64": "…"}: a byte string in base64.
bool is_json_base64(const JsonNode& value);

/// The shape of a value as a tensor, for an input of the shape `wanted`. An open size is the size of the
/// first list at that level, and 0 below an empty list. Looks only at the first list of each level;
/// read_json_tensor checks the others.
/// \error kInvalidArgument  the lists have another depth, or the first list of a level has another size
Result<Shape> shape_of_json(const JsonNode& value, const Shape& wanted);

/// Total bytes of all byte strings of a tensor of this shape, with base64 decoded.
/// \error kInvalidArgument  some of the errors of read_json_tensor
Result<std::uint64_t> texts_bytes_of_json(const JsonNode& value, const Shape& shape);

/// Writes a value of this type and shape into a row of an input. Byte strings are JSON strings, taken as
/// UTF-8, or is_json_base64.
/// \error kInvalidArgument  a value has another type or is out of range (see read_json_numbers), a list has
///                          another size, or base64 is damaged; the message gives the index
/// REQUIRES: can_be_json(type); the row has this shape
Status read_json_tensor(const JsonNode& value, DataType type, const Shape& shape, ReservedRows& rows,
                        std::size_t input, std::uint64_t row);

/// Appends the strings of nested lists of this shape to `texts`, as views of the document.
/// \error kInvalidArgument  a value is not a string, or a list has another size
Status append_texts_of_json(const JsonNode& value, const Shape& shape, std::vector<std::string_view>& texts);

/// The reason why read_json_numbers has refused a value of this shape. REQUIRES: it has
Error json_misfit(const JsonNode& value, DataType type, const Shape& shape);

/// Whether JSON can carry values of this type: byte strings, or has_json_numbers.
bool can_be_json(DataType type);

/// Describes a value in a few words, for a message: the beginning of a scalar, or the size of a list.
std::string describe_json(const JsonNode& value);

}  // namespace headrace
