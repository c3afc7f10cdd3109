#pragma once

/// \file The ways in which `crc32c` computes, for its dispatch and its test. Private to base/.

#include "headrace/base/bytes.h"

namespace headrace {

enum class Crc32cMethod : std::uint8_t {
  kTable,         // eight bytes a step; any processor
  kThreeStreams,  // SSE4.2's crc32 instruction on three parts side by side, joined by PCLMULQDQ
  kFolding,       // AVX-512 and VPCLMULQDQ, 256 bytes a step; 64 at the least, else the crc32 instruction
};

/// Does this processor, under this operating system, have it?
bool is_supported(Crc32cMethod method);

/// Continues from the register `state`, which is the inverted CRC of what came before, and returns the
/// register. Any size and alignment.
using ExtendCrc32c = std::uint32_t (*)(std::uint32_t state, const std::byte* data, std::size_t size);

/// REQUIRES: the method is supported.
ExtendCrc32c extend_crc32c(Crc32cMethod method);

#if defined(__x86_64__)
std::uint32_t extend_by_three_streams(std::uint32_t state, const std::byte* data, std::size_t size);
std::uint32_t extend_by_folding(std::uint32_t state, const std::byte* data, std::size_t size);
#endif

inline constexpr std::uint32_t kCrc32cPolynomial = 0x82F63B78U;

}  // namespace headrace
