#pragma once

/// \file The elements of a tensor as a repeated field of a protobuf message, as TensorProto and KServe's
/// InferTensorContents have them. The type alone decides how an element is written: float32, float64 and
/// complex numbers with a fixed width, integers and 16-bit floats as varints, byte strings with lengths,
/// floats of eight bits as the bytes of one string.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/answers.h"

namespace headrace {

/// Elements that do not lie in the message as an array has them.
struct ValuesMemory {
  Bytes numbers{};
  std::vector<std::string_view> texts{};
};

struct RepeatedValues {
  std::uint64_t count = 0;
  /// Numbers, at any alignment: in the message if it has them in one piece of fixed width, else in memory.
  /// Byte strings are in ValuesMemory::texts, and view the message.
  const std::byte* numbers = nullptr;
};

/// Reads the elements of `field`, packed or not. `message` is well-formed, and both outlive the result.
/// \error kInvalidArgument  an element does not fit the type, or the field has another wire type
/// Memory: at most 16 times the message.
Result<RepeatedValues> read_repeated(BytesView message, std::uint32_t field, DataType type,
                                     ValuesMemory& memory);

/// Bytes that append_repeated appends.
std::uint64_t repeated_size(std::uint32_t field, const AnswerOutput& output);
/// Numbers are packed. Nothing is written for a tensor without elements.
void append_repeated(Bytes& out, std::uint32_t field, const AnswerOutput& output);

/// The elements' bytes, as an engine has them. REQUIRES: no byte strings
std::uint64_t numbers_size(const AnswerOutput& output);
void append_numbers(Bytes& out, const AnswerOutput& output);

}  // namespace headrace
