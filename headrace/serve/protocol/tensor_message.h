#pragma once

/// \file TensorFlow's TensorProto, walked by hand. Source: tensorflow/core/framework, tensor.proto,
/// tensor_shape.proto and tensor.cc.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/repeated_values.h"

namespace headrace {

/// TensorFlow's number of a type, as in types.proto.
std::uint32_t tensor_dtype(DataType type);
std::optional<DataType> parse_tensor_dtype(std::uint64_t dtype);

/// Reads the tensors of one request, one after another.
class TensorMessageReader {
 public:
  /// `repeated_bytes_max`: memory for elements that a message does not have, but its shape: see `read`.
  explicit TensorMessageReader(std::uint64_t repeated_bytes_max) : bytes_left_(repeated_bytes_max) {}

  /// A tensor whose elements are `tensor_content`, which is borrowed, or the values of its type's field. If
  /// the values are fewer than the shape has elements, the last one stands for the others, as TensorFlow has
  /// it, and zero if there is none. `message` and `memory` must outlive the tensor.
  /// \error kInvalidArgument    no well-formed message; an unknown type or rank, more than Shape::kRankMax
  ///                            dimensions; more values than elements; a value that does not fit the type
  /// \error kResourceExhausted  repeated values would take more than is left for them
  Result<TensorView> read(BytesView message, ValuesMemory& memory);

  /// Whether a tensor of numbers came as `tensor_content`.
  bool has_content() const { return has_content_; }

 private:
  Status read_content(BytesView content, std::uint64_t elements, TensorView& out, ValuesMemory& memory);
  Status read_values(BytesView message, std::uint64_t elements, TensorView& out, ValuesMemory& memory);
  Status take(std::uint64_t count, std::uint64_t bytes_each);

  std::uint64_t bytes_left_;
  bool has_content_ = false;
};

/// Appends an entry of a map from name to tensor, as field `number` of a message. Numbers are written as
/// `tensor_content` if `as_content`, else as values; byte strings always are values.
/// \error as AnswerOutput::shape
Status append_tensor_entry(Bytes& out, std::uint32_t number, const AnswerOutput& output, bool as_content);

/// The content of a TensorShapeProto; −1 is any size.
void append_tensor_shape(Bytes& out, const Shape& shape);

}  // namespace headrace
