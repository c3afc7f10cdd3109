#pragma once

/// \file The encoder `hash:N`: signed hashed uni- and bigrams (Weinberger et al., 2009). No weights, no
/// download. docs/formats/hash-encoder.md defines every bit of the result; it never changes under this name.

#include <memory>

#include "headrace/engine/encoder.h"

namespace headrace {

inline constexpr int kMaxHashEncoderDimension = 65536;

/// An encoder of `dimension` floats, 1 … 65,536; INVALID_ARGUMENT outside. Its vectors have length 1, or are
/// all zero for a text without a token. Cost: about 5 ns per byte of text, plus 2 ns per dimension; memory:
/// 4 · dimension bytes during a call, whatever the texts' sizes. Its `encode` does not fail.
Result<std::shared_ptr<const TextEncoder>> make_hash_encoder(int dimension);

}  // namespace headrace
