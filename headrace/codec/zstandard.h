#pragma once

/// \file Zstandard frames (RFC 8878), by libzstd.

#include <cstdint>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// One frame. The same data give the same frame with the same version of libzstd only.
Bytes compress_zstandard(BytesView data);

/// The content of one frame, which must be of exactly that size. The caller bounds it: so much is allocated.
/// \error kDataLoss  it is no frame, or of another size
Result<Bytes> decompress_zstandard(BytesView frame, std::uint64_t size_bytes);
/// Fills the target. \error as above
Status decompress_zstandard(BytesView frame, MutableBytesView target);

}  // namespace headrace
