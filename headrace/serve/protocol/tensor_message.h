#pragma once

/// \file Reads and writes TensorFlow's TensorProto without protobuf. Source: tensorflow/core/framework,
/// tensor.proto, tensor_shape.proto and tensor.cc.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/repeated_values.h"

namespace headrace {

/// TensorFlow's number of a type, from types.proto.
std::uint32_t tensor_dtype(DataType type);
/// The type with this number; nullopt: an unknown number.
std::optional<DataType> parse_tensor_dtype(std::uint64_t dtype);

/// Reads the tensors of one request, one after another.
class TensorMessageReader {
 public:
  /// `repeated_bytes_max` bounds the memory for elements that are in a shape but not in its message: see
  /// `read`.
  explicit TensorMessageReader(std::uint64_t repeated_bytes_max) : bytes_left_(repeated_bytes_max) {}

  /// Reads a tensor. Its elements are `tensor_content`, which is borrowed, or the values in the field for its
  /// type. If there are fewer values than elements, the last value is repeated, as TensorFlow does, or zero
  /// if there is none. `message` and `memory` must outlive the tensor.
  /// \error kInvalidArgument    the message is malformed; its type or rank is unknown; it has more than
  ///                            Shape::kRankMax dimensions or more values than elements; a value does not fit
  ///                            the type
  /// \error kResourceExhausted  repeated values would take more memory than is left for them
  Result<TensorView> read(BytesView message, ValuesMemory& memory);

  /// Whether any tensor of numbers so far came as `tensor_content`.
  bool has_content() const { return has_content_; }

 private:
  Status read_content(BytesView content, std::uint64_t elements, TensorView& out, ValuesMemory& memory);
  Status read_values(BytesView message, std::uint64_t elements, TensorView& out, ValuesMemory& memory);
  Status take(std::uint64_t count, std::uint64_t bytes_each);

  std::uint64_t bytes_left_;
  bool has_content_ = false;
};

/// Appends an entry of a map from name to tensor, as field `number` of a message. Numbers are written as
/// `tensor_content` if `as_content`, else as values. Byte strings are always written as values.
/// \error as AnswerOutput::shape
Status append_tensor_entry(Bytes& out, std::uint32_t number, const AnswerOutput& output, bool as_content);

/// Appends the content of a TensorShapeProto; −1 stands for any size.
void append_tensor_shape(Bytes& out, const Shape& shape);

}  // namespace headrace
