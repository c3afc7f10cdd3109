#include "headrace/base/crc32c.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (int t = 1; t < 8; ++t) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  }
  return tables;
}
constexpr auto kTables = make_tables();

// State below is the raw register (before the final inversion).
std::uint32_t extend_by_table(std::uint32_t state, const std::byte* data, std::size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    const std::uint64_t word = load_little_endian<std::uint64_t>(data) ^ state;
    state = 0;
    for (int i = 0; i < 8; ++i) state ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; size > 0; ++data, --size)
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*data)) & 0xff];
  return state;
}

#if defined(__x86_64__)
// Product of two polynomials modulo the CRC polynomial, in reflected bit order (bit 31 is x^0).
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// x^(8 * bytes) modulo the CRC polynomial: what shifts a register past that many zero bytes.
constexpr std::uint32_t shift_factor(std::uint64_t bytes) {
  std::uint32_t factor = 0x80000000U;
  std::uint32_t power = 0x00800000U;  // x^8
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) factor = multiply(factor, power);
    power = multiply(power, power);
  }
  return factor;
}

// Register shifted past a fixed number of zero bytes, by four table look-ups.
struct ShiftTable {
  std::array<std::array<std::uint32_t, 256>, 4> rows{};
  explicit constexpr ShiftTable(std::uint64_t bytes) {
    const std::uint32_t factor = shift_factor(bytes);
    for (int row = 0; row < 4; ++row) {
      for (std::uint32_t bit = 0; bit < 8; ++bit) {
        rows[row][1U << bit] = multiply(1U << (8 * row + bit), factor);
      }
      for (std::uint32_t i = 1; i < 256; ++i) rows[row][i] = rows[row][i & (i - 1)] ^ rows[row][i & -i];
    }
  }
  std::uint32_t operator()(std::uint32_t state) const {
    return rows[0][state & 0xff] ^ rows[1][(state >> 8) & 0xff] ^ rows[2][(state >> 16) & 0xff] ^
           rows[3][state >> 24];
  }
};

constexpr std::size_t kLargeBlock = 4096;
constexpr std::size_t kSmallBlock = 256;
constexpr ShiftTable kShiftLarge(kLargeBlock);
constexpr ShiftTable kShiftSmall(kSmallBlock);

// The crc32 instruction has a latency of three cycles and a throughput of one: three independent streams hide
// it.
__attribute__((target("sse4.2"))) std::uint32_t extend_three_blocks(std::uint32_t state,
                                                                    const std::byte* data, std::size_t block,
                                                                    const ShiftTable& shift) {
  std::uint64_t first = state, second = 0, third = 0;
  for (std::size_t i = 0; i < block; i += 8) {
    first = _mm_crc32_u64(first, load_little_endian<std::uint64_t>(data + i));
    second = _mm_crc32_u64(second, load_little_endian<std::uint64_t>(data + block + i));
    third = _mm_crc32_u64(third, load_little_endian<std::uint64_t>(data + 2 * block + i));
  }
  state = shift(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
  return shift(state) ^ static_cast<std::uint32_t>(third);
}

__attribute__((target("sse4.2"))) std::uint32_t extend_by_instruction(std::uint32_t state,
                                                                      const std::byte* data,
                                                                      std::size_t size) {
  for (; size >= 3 * kLargeBlock; data += 3 * kLargeBlock, size -= 3 * kLargeBlock) {
    state = extend_three_blocks(state, data, kLargeBlock, kShiftLarge);
  }
  for (; size >= 3 * kSmallBlock; data += 3 * kSmallBlock, size -= 3 * kSmallBlock) {
    state = extend_three_blocks(state, data, kSmallBlock, kShiftSmall);
  }
  std::uint64_t wide = state;
  for (; size >= 8; data += 8, size -= 8) wide = _mm_crc32_u64(wide, load_little_endian<std::uint64_t>(data));
  state = static_cast<std::uint32_t>(wide);
  for (; size > 0; ++data, --size) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(*data));
  return state;
}

const bool kHasInstruction = __builtin_cpu_supports("sse4.2");
#endif

}  // namespace

std::uint32_t crc32c(BytesView data, std::uint32_t before) {
  const std::uint32_t state = ~before;
#if defined(__x86_64__)
  if (kHasInstruction) return ~extend_by_instruction(state, data.data(), data.size());
#endif
  return ~extend_by_table(state, data.data(), data.size());
}

}  // namespace headrace
