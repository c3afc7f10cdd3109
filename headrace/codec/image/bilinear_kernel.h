#pragma once

/// \file The inner loops of bilinear resizing. For float results, a sample or a pixel of three or four
/// samples is blended from its four corners. For 8-bit results, in integers, two rows are blended first, and
/// then pairs of samples of the blended row. With SSE2, which every x86-64 has, and with AVX2, several
/// samples are computed at once; otherwise one at a time. The operations and their order are the same, so the
/// bits are the same. Internal to resize.cc.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__SSE2__)
#include <immintrin.h>
#define HEADRACE_AVX2 __attribute__((target("avx2")))
#endif

namespace headrace {

/// The two source pixels that a pixel of a row is blended from.
struct Neighbours {
  std::size_t left;      // the left pixel's offset in the row, in samples
  std::size_t to_right;  // from the left pixel to the right one, in samples
  float right_part;      // the right pixel's weight, 0 to 1
};

// ---- to float -------------------------------------------------------------------------------------

/// Blends one sample as TensorFlow does: left with right first, then top with bottom.
inline void blend_sample(const std::uint8_t* top, const std::uint8_t* bottom, const Neighbours& at,
                         float bottom_part, float* to) {
  const float top_left = top[0], bottom_left = bottom[0];
  const float above = top_left + (static_cast<float>(top[at.to_right]) - top_left) * at.right_part;
  const float below = bottom_left + (static_cast<float>(bottom[at.to_right]) - bottom_left) * at.right_part;
  *to = above + (below - above) * bottom_part;
}

/// The bytes that `blend_pixel` reads from each left corner on, and the values that it writes.
inline constexpr std::size_t kPixelReads = 8, kPixelWrites = 4;

#if defined(__SSE2__)

namespace bilinear_internal {

inline __m128 floats_at(const std::uint8_t* from) {
  std::int32_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const __m128i zero = _mm_setzero_si128();
  return _mm_cvtepi32_ps(_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero), zero));
}

inline __m128 between(__m128 a, __m128 b, float part) {
  return _mm_add_ps(a, _mm_mul_ps(_mm_sub_ps(b, a), _mm_set1_ps(part)));
}

}  // namespace bilinear_internal

/// Blends one pixel of three or four channels. The right pixel follows the left one directly.
template <std::size_t kChannels>
void blend_pixel(const std::uint8_t* top, const std::uint8_t* bottom, const Neighbours& at, float bottom_part,
                 float* to) {
  using namespace bilinear_internal;
  const __m128 above = between(floats_at(top), floats_at(top + kChannels), at.right_part);
  const __m128 below = between(floats_at(bottom), floats_at(bottom + kChannels), at.right_part);
  _mm_storeu_ps(to, between(above, below, bottom_part));
}

#else

template <std::size_t kChannels>
void blend_pixel(const std::uint8_t* top, const std::uint8_t* bottom, const Neighbours& at, float bottom_part,
                 float* to) {
  for (std::size_t i = 0; i < kPixelWrites; ++i) blend_sample(top + i, bottom + i, at, bottom_part, to + i);
}

#endif

// ---- to 8 bits ------------------------------------------------------------------------------------

/// The fixed-point units. A sample between two rows counts in 1 / 2^7, the bottom row's part in 1 / 2^15, the
/// left and the right part in 1 / 2^14. These are the smallest units for which 16 bits are enough. Their
/// errors sum to less than 1 / 50.
inline constexpr int kSampleBits = 7, kRowPartBits = 15, kSidePartBits = 14;

inline std::int16_t row_part(float bottom_part) {
  constexpr long kUnits = 1L << kRowPartBits;
  return static_cast<std::int16_t>(std::min(std::lround(bottom_part * kUnits), kUnits - 1));
}

/// The left pixel's part and the right pixel's part, repeated four times.
using SideParts = std::array<std::int16_t, 8>;

inline SideParts side_parts(float right_part) {
  constexpr long kUnits = 1L << kSidePartBits;
  const auto right = static_cast<std::int16_t>(std::lround(right_part * kUnits));
  const auto left = static_cast<std::int16_t>(kUnits - right);
  return {left, right, left, right, left, right, left, right};
}

/// The number of samples that may be read beyond the end of a blended row. Their values do not matter.
inline constexpr std::size_t kRowPadding = 16;

inline void blend_rows_plainly(const std::uint8_t* top, const std::uint8_t* bottom, std::int16_t part,
                               std::span<std::int16_t> to) {
  constexpr int kHalf = 1 << (kRowPartBits - 1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int step = (bottom[i] - top[i]) * (1 << kSampleBits);
    to[i] = static_cast<std::int16_t>(top[i] * (1 << kSampleBits) + ((step * part + kHalf) >> kRowPartBits));
  }
}

/// Blends two samples of a blended row. Rounds half up.
inline std::uint8_t blend_sides(const std::int16_t* left, std::size_t to_right, const SideParts& parts) {
  constexpr int kBits = kSampleBits + kSidePartBits, kHalf = 1 << (kBits - 1);
  return static_cast<std::uint8_t>((left[0] * parts[0] + left[to_right] * parts[1] + kHalf) >> kBits);
}

#if defined(__SSE2__)

inline bool has_avx2() {
  static const bool has_it = __builtin_cpu_supports("avx2") != 0;
  return has_it;
}

namespace bilinear_internal {

HEADRACE_AVX2 inline __m256i sixteen_samples(const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), kSampleBits);
}

HEADRACE_AVX2 inline __m256i samples_of_two(const std::int16_t* first, const std::int16_t* second) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), *reinterpret_cast<const __m128i_u*>(second), 1);
}

// Blends two pixels. The result has four samples of 32 bits for each.
template <std::size_t kChannels>
HEADRACE_AVX2 __m256i two_pixels(const std::int16_t* row, const Neighbours* at, const SideParts* parts) {
  constexpr int kBits = kSampleBits + kSidePartBits;
  const std::int16_t* const first = row + at[0].left;
  const std::int16_t* const second = row + at[1].left;
  const __m256i pairs = _mm256_unpacklo_epi16(samples_of_two(first, second),
                                              samples_of_two(first + kChannels, second + kChannels));
  const __m256i sums =
      _mm256_madd_epi16(pairs, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(parts->data())));
  return _mm256_srai_epi32(_mm256_add_epi32(sums, _mm256_set1_epi32(1 << (kBits - 1))), kBits);
}

HEADRACE_AVX2 inline void blend_rows_by_avx2(const std::uint8_t* top, const std::uint8_t* bottom,
                                             std::int16_t part, std::span<std::int16_t> to) {
  constexpr std::size_t kAtOnce = 16;
  const std::size_t whole = to.size() / kAtOnce * kAtOnce;
  const __m256i parts = _mm256_set1_epi16(part);
  for (std::size_t i = 0; i < whole; i += kAtOnce) {
    const __m256i above = sixteen_samples(top + i);
    const __m256i step = _mm256_sub_epi16(sixteen_samples(bottom + i), above);
    const __m256i sum = _mm256_add_epi16(above, _mm256_mulhrs_epi16(step, parts));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&to[i]), sum);
  }
  blend_rows_plainly(top + whole, bottom + whole, part, to.subspan(whole));
}

// The number of pixels computed at once, and the bytes written for them.
inline constexpr std::size_t kPixelsAtOnce = 4, kPixelsBytes = 16;

// REQUIRES: `count` is a multiple of `kPixelsAtOnce`.
template <std::size_t kChannels>
HEADRACE_AVX2 void blend_sides_by_avx2(const std::int16_t* row, const Neighbours* at, const SideParts* parts,
                                       std::size_t count, std::uint8_t* to) {
  static_assert(kChannels == 3 || kChannels == 4);
  // The input has four bytes for each pixel, in the order first, third, second, fourth.
  const __m128i in_order = kChannels == 3
                               ? _mm_setr_epi8(0, 1, 2, 8, 9, 10, 4, 5, 6, 12, 13, 14, -1, -1, -1, -1)
                               : _mm_setr_epi8(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
  for (std::size_t i = 0; i < count; i += kPixelsAtOnce, to += kPixelsAtOnce * kChannels) {
    const __m256i narrow = _mm256_packs_epi32(two_pixels<kChannels>(row, at + i, parts + i),
                                              two_pixels<kChannels>(row, at + i + 2, parts + i + 2));
    const __m256i halves = _mm256_packus_epi16(narrow, narrow);
    const __m128i pixels =
        _mm_unpacklo_epi64(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(pixels, in_order));
  }
}

}  // namespace bilinear_internal

/// Blends two rows into one of `to.size()` samples.
inline void blend_rows(const std::uint8_t* top, const std::uint8_t* bottom, std::int16_t part,
                       std::span<std::int16_t> to) {
  if (has_avx2()) return bilinear_internal::blend_rows_by_avx2(top, bottom, part, to);
  blend_rows_plainly(top, bottom, part, to);
}

/// Does what `blend_sides` does for the first pixels of a row with three or four channels, and returns their
/// number, which may be 0. The right pixel follows the left one directly. Writes only inside `to`.
template <std::size_t kChannels>
std::size_t blend_first_sides(const std::int16_t* row, const Neighbours* at, const SideParts* parts,
                              std::span<std::uint8_t> to) {
  using namespace bilinear_internal;
  constexpr std::size_t kBytes = kPixelsAtOnce * kChannels, kBeyond = kPixelsBytes - kBytes;
  if (!has_avx2() || to.size() < kBeyond) return 0;
  const std::size_t count = (to.size() - kBeyond) / kBytes * kPixelsAtOnce;
  blend_sides_by_avx2<kChannels>(row, at, parts, count, to.data());
  return count;
}

#else

inline void blend_rows(const std::uint8_t* top, const std::uint8_t* bottom, std::int16_t part,
                       std::span<std::int16_t> to) {
  blend_rows_plainly(top, bottom, part, to);
}

template <std::size_t kChannels>
std::size_t blend_first_sides(const std::int16_t*, const Neighbours*, const SideParts*,
                              std::span<std::uint8_t>) {
  return 0;
}

#endif

}  // namespace headrace
