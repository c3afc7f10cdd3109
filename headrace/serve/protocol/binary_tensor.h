#pragma once

/// \file Tensors as raw bytes of KServe v2: numbers as an engine has them; each byte string after its size,
/// which is a little-endian 32-bit integer. Source: kserve/open-inference-protocol, specification/protocol.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/answers.h"

namespace headrace {

/// Parses byte strings. The result is a list of views of `data`.
/// \error kInvalidArgument  there are not exactly `elements` byte strings, or one is cut off
Result<std::vector<std::string_view>> parse_binary_texts(BytesView data, std::uint64_t elements);

/// Number of bytes that append_binary_tensor appends.
std::uint64_t binary_tensor_size(const AnswerOutput& output);
void append_binary_tensor(Bytes& out, const AnswerOutput& output);

}  // namespace headrace
