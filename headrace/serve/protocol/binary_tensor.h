#pragma once

/// \file Tensors as KServe v2's raw bytes: numbers as an engine has them, byte strings with their sizes as 32
/// bits, little-endian, before them. Source: kserve/open-inference-protocol, specification/protocol.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/answers.h"

namespace headrace {

/// Byte strings, which view the data.
/// \error kInvalidArgument  they are not as many as `elements`, or one is cut
Result<std::vector<std::string_view>> parse_binary_texts(BytesView data, std::uint64_t elements);

std::uint64_t binary_tensor_size(const AnswerOutput& output);
void append_binary_tensor(Bytes& out, const AnswerOutput& output);

}  // namespace headrace
