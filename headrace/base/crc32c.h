#pragma once

/// \file CRC32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of TFRecord, TensorBundle, event
/// files and of every part that a manifest names. Definition: RFC 3720, appendix B.4.
/// Uses SSE4.2 in three interleaved streams where the processor has it, a table otherwise; same result.

#include <cstdint>

#include "headrace/base/bytes.h"

namespace headrace {

/// CRC32C of `data`; pass the CRC of what came before to continue it.
std::uint32_t crc32c(BytesView data, std::uint32_t before = 0);

/// TensorFlow's mask for CRCs that are stored beside the data they cover: rotated by 15, plus a constant.
inline std::uint32_t masked_crc32c(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

}  // namespace headrace
