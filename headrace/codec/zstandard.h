#pragma once

/// \file Zstandard frames (RFC 8878), by libzstd. All functions are thread-safe; each thread keeps one
/// context for compression and one for decompression.

#include <cstdint>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Compresses data into one frame. The same data give the same frame only with the same version of libzstd.
/// \throws std::bad_alloc  no memory
Bytes compress_zstandard(BytesView data);

/// The content of one frame, which must have exactly `size_bytes` bytes. The caller bounds `size_bytes`,
/// because that much memory is allocated.
/// \error kDataLoss  `frame` is not a frame, or its content has another size
Result<Bytes> decompress_zstandard(BytesView frame, std::uint64_t size_bytes);
/// Decompresses one frame, whose content must fill the target exactly.
/// \error kDataLoss  as above
Status decompress_zstandard(BytesView frame, MutableBytesView target);

}  // namespace headrace
