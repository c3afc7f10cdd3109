#pragma once

/// \file The encoder `hash:N`: signed hashed unigrams and bigrams (Weinberger et al., 2009). It needs no
/// weights and no download. docs/formats/hash-encoder.md defines every bit of the result, which never changes
/// under this name.

#include <memory>

#include "headrace/engine/encoder.h"

namespace headrace {

inline constexpr int kMaxHashEncoderDimension = 65536;

/// Makes an encoder into vectors of `dimension` floats, 1 to 65,536. Each vector has length 1, or is all zero
/// for a text without a token. `encode` does not fail. Cost: about 5 ns per byte of text and 2 ns per
/// dimension; memory: 4 · dimension bytes during a call, whatever the sizes of the texts.
/// \error kInvalidArgument  the dimension is out of range
Result<std::shared_ptr<const TextEncoder>> make_hash_encoder(int dimension);

}  // namespace headrace
