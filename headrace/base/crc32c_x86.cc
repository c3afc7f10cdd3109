// CRC32C with the instructions of x86-64. Sources: V. Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel, 2009; V. Gopal et al., "Fast CRC Computation for iSCSI
// Polynomial Using CRC32 Instruction", Intel, 2011.

#if defined(__x86_64__)
#include <immintrin.h>

#include "headrace/base/crc32c_methods.h"

#define HEADRACE_STREAMS __attribute__((target("sse4.2,pclmul")))
#define HEADRACE_FOLDING \
  __attribute__((target("sse4.2,pclmul,avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")))

namespace headrace {
namespace {

// Product of two polynomials modulo the CRC polynomial, in reflected bit order (bit 31 is x^0).
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kCrc32cPolynomial : 0);
  }
  return product;
}

// x^exponent modulo the CRC polynomial.
constexpr std::uint32_t power_of_x(std::uint64_t exponent) {
  std::uint32_t result = 0x80000000U;
  std::uint32_t factor = 0x40000000U;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, factor);
    factor = multiply(factor, factor);
  }
  return result;
}

HEADRACE_STREAMS inline std::uint32_t extend_by_instruction(std::uint64_t state, const std::byte* data,
                                                            std::size_t size) {
  for (; size >= 8; data += 8, size -= 8)
    state = _mm_crc32_u64(state, load_little_endian<std::uint64_t>(data));
  auto narrow = static_cast<std::uint32_t>(state);
  if ((size & 4) != 0) narrow = _mm_crc32_u32(narrow, load_little_endian<std::uint32_t>(data)), data += 4;
  if ((size & 2) != 0) narrow = _mm_crc32_u16(narrow, load_little_endian<std::uint16_t>(data)), data += 2;
  if ((size & 1) != 0) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*data));
  return narrow;
}

// ---- three streams --------------------------------------------------------------------------------

// Moves a register past `kBytes` bytes that end with a word of eight. The product is xored into that word
// before the word is processed, which multiplies it by x^64 and reduces it. The product of reflected numbers
// is one bit too short, which the factor corrects.
template <std::size_t kBytes>
HEADRACE_STREAMS inline std::uint64_t shift(std::uint64_t state) {
  constexpr std::uint32_t kFactor = power_of_x(8 * kBytes - 33);
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(state)),
                                               _mm_cvtsi64_si128(kFactor), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

// The crc32 instruction has a latency of three cycles and a throughput of one per cycle, so three independent
// streams hide the latency. Consumes three blocks.
template <std::size_t kBlock>
HEADRACE_STREAMS inline std::uint32_t extend_three_blocks(std::uint32_t state, const std::byte* data) {
  const auto word = [&](std::size_t at) { return load_little_endian<std::uint64_t>(data + at); };
  std::uint64_t first = state, second = 0, third = 0;
  for (std::size_t i = 0; i < kBlock - 8; i += 8) {
    first = _mm_crc32_u64(first, word(i));
    second = _mm_crc32_u64(second, word(kBlock + i));
    third = _mm_crc32_u64(third, word(2 * kBlock + i));
  }
  first = _mm_crc32_u64(first, word(kBlock - 8));
  second = _mm_crc32_u64(second, word(2 * kBlock - 8));
  const std::uint64_t before = shift<2 * kBlock>(first) ^ shift<kBlock>(second);
  return static_cast<std::uint32_t>(_mm_crc32_u64(third, word(3 * kBlock - 8) ^ before));
}

template <std::size_t kBlock>
HEADRACE_STREAMS inline void take_blocks(std::uint32_t& state, const std::byte*& data, std::size_t& size) {
  for (; size >= 3 * kBlock; data += 3 * kBlock, size -= 3 * kBlock)
    state = extend_three_blocks<kBlock>(state, data);
}

// ---- folding --------------------------------------------------------------------------------------

// The factors that move 128 bits past `bits` bits of the message: one for the first half, and one for the
// second half. As factors have 32 bits, they contain x^32 too much; products contain one x too little.
struct FoldingFactors {
  std::int64_t first, second;
  explicit constexpr FoldingFactors(std::uint64_t bits)
      : first(power_of_x(bits + 31)), second(power_of_x(bits - 33)) {}
};

template <std::uint64_t kBits>
HEADRACE_FOLDING inline __m512i factors() {
  constexpr FoldingFactors k(kBits);
  return _mm512_set_epi64(k.second, k.first, k.second, k.first, k.second, k.first, k.second, k.first);
}

HEADRACE_FOLDING inline __m512i load(const std::byte* data) { return _mm512_loadu_si512(data); }

// Moves each 128 bits of `from` by the factors `k`, and adds them to those of `to`.
HEADRACE_FOLDING inline __m512i fold(__m512i from, __m512i k, __m512i to) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(from, k, 0x00),
                                   _mm512_clmulepi64_epi128(from, k, 0x11), to, kXorOfThree);
}

// The plain intrinsic makes GCC 12 warn of a variable inside the intrinsic.
template <int kQuarter>
HEADRACE_FOLDING inline __m128i quarter(__m512i bits) {
  return _mm512_maskz_extracti64x2_epi64(0xff, bits, kQuarter);
}

// The register's value after the 512 bits.
HEADRACE_FOLDING inline std::uint32_t reduce(__m512i bits) {
  constexpr FoldingFactors k3(3 * 128), k2(2 * 128), k1(128);
  const __m512i k = _mm512_set_epi64(0, 0, k1.second, k1.first, k2.second, k2.first, k3.second, k3.first);
  const __m512i last = _mm512_maskz_mov_epi64(0xC0, bits);  // the last quarter, which is not moved
  const __m512i moved = fold(bits, k, last);
  const __m128i whole = _mm_xor_si128(_mm_xor_si128(quarter<0>(moved), quarter<1>(moved)),
                                      _mm_xor_si128(quarter<2>(moved), quarter<3>(moved)));
  const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(whole));
  const auto high = static_cast<std::uint64_t>(_mm_extract_epi64(whole, 1));
  return static_cast<std::uint32_t>(_mm_crc32_u64(_mm_crc32_u64(0, low), high));
}

}  // namespace

HEADRACE_STREAMS std::uint32_t extend_by_three_streams(std::uint32_t state, const std::byte* data,
                                                       std::size_t size) {
  take_blocks<4096>(state, data, size);
  take_blocks<512>(state, data, size);
  take_blocks<64>(state, data, size);
  return extend_by_instruction(state, data, size);
}

HEADRACE_FOLDING std::uint32_t extend_by_folding(std::uint32_t state, const std::byte* data,
                                                 std::size_t size) {
  if (size < 64) return extend_by_instruction(state, data, size);
  __m512i a =
      _mm512_xor_si512(load(data), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  if (size >= 512) {
    __m512i b = load(data + 64), c = load(data + 128), d = load(data + 192);
    const __m512i k = factors<4 * 512>();
    for (data += 256, size -= 256; size >= 256; data += 256, size -= 256) {
      a = fold(a, k, load(data));
      b = fold(b, k, load(data + 64));
      c = fold(c, k, load(data + 128));
      d = fold(d, k, load(data + 192));
    }
    a = fold(fold(fold(a, factors<512>(), b), factors<512>(), c), factors<512>(), d);
  } else {
    data += 64, size -= 64;
  }
  for (; size >= 64; data += 64, size -= 64) a = fold(a, factors<512>(), load(data));
  return extend_by_instruction(reduce(a), data, size);
}

}  // namespace headrace
#endif
