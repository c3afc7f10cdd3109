#pragma once

/// \file The elements of a tensor as a repeated field of a protobuf message, as in TensorProto and KServe's
/// InferTensorContents. The type alone decides the encoding of an element: float32, float64 and complex
/// numbers have a fixed width, integers and 16-bit floats are varints, byte strings have lengths, and 8-bit
/// floats are the bytes of one string.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/answers.h"

namespace headrace {

/// Memory for elements that are not contiguous in the message.
struct ValuesMemory {
  Bytes numbers{};
  std::vector<std::string_view> texts{};
};

struct RepeatedValues {
  std::uint64_t count = 0;
  /// The numbers, at any alignment. They lie in the message if it has them as one piece of fixed width, else
  /// in ValuesMemory::numbers. Byte strings are in ValuesMemory::texts, as views of the message.
  const std::byte* numbers = nullptr;
};

/// Reads the elements of `field`, packed or not. `message` and `memory` must outlive the result.
/// \error kInvalidArgument  an element does not fit the type, or the field has another wire type
/// REQUIRES: `message` is well-formed
/// Cost: at most 16 times the memory of the message.
Result<RepeatedValues> read_repeated(BytesView message, std::uint32_t field, DataType type,
                                     ValuesMemory& memory);

/// Number of bytes that append_repeated appends.
std::uint64_t repeated_size(std::uint32_t field, const AnswerOutput& output);
/// Appends the elements as field `field`. Numbers are packed. Appends nothing if there are no elements.
void append_repeated(Bytes& out, std::uint32_t field, const AnswerOutput& output);

/// The size of the elements in the form in which an engine has them, and their bytes.
/// REQUIRES, for both: the type is not kBytes
std::uint64_t numbers_size(const AnswerOutput& output);
void append_numbers(Bytes& out, const AnswerOutput& output);

}  // namespace headrace
