#pragma once

/// \file The methods by which `crc32c` computes, for its dispatch and its test. Private to base/.

#include "headrace/base/bytes.h"

namespace headrace {

enum class Crc32cMethod : std::uint8_t {
  kTable,         // eight bytes per step; any processor
  kThreeStreams,  // SSE4.2's crc32 instruction on three parts side by side, joined by PCLMULQDQ
  kFolding,       // AVX-512 and VPCLMULQDQ, 256 bytes per step; the crc32 instruction below 64 bytes
};

/// True if this processor, under this operating system, supports the method.
bool is_supported(Crc32cMethod method);

/// Continues from the register `state`, which is the inverted CRC of the preceding bytes, and returns the new
/// register. `data` may have any size and alignment.
using ExtendCrc32c = std::uint32_t (*)(std::uint32_t state, const std::byte* data, std::size_t size);

/// REQUIRES: the method is supported.
ExtendCrc32c extend_crc32c(Crc32cMethod method);

#if defined(__x86_64__)
std::uint32_t extend_by_three_streams(std::uint32_t state, const std::byte* data, std::size_t size);
std::uint32_t extend_by_folding(std::uint32_t state, const std::byte* data, std::size_t size);
#endif

inline constexpr std::uint32_t kCrc32cPolynomial = 0x82F63B78U;

}  // namespace headrace
