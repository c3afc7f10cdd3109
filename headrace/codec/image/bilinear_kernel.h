#pragma once

/// \file A sample, or a pixel of three or four, between four corners: the innermost work of bilinear
/// resizing. With SSE2, which every x86-64 has, a pixel is computed at once; without, sample by sample: the
/// same operations in the same order, hence the same bits. Internal to resize.cc.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headrace {

/// Rows are weighed in integers of this unit where the result has 8 bits.
inline constexpr std::int32_t kRowUnits = 1 << 14;

/// How much the left and right corners weigh: the right one's part, and both for sums in `kRowUnits`.
struct SideWeights {
  explicit SideWeights(float right) : right_part(right) {
    left_scales.fill((1 - right) / kRowUnits);
    right_scales.fill(right / kRowUnits);
  }

  float right_part;
  std::array<float, 4> left_scales;
  std::array<float, 4> right_scales;
};

struct RowWeights {
  explicit RowWeights(float bottom)
      : bottom_part(bottom),
        bottom_units(static_cast<std::int32_t>(std::lround(bottom * kRowUnits))),
        top_units(kRowUnits - bottom_units) {}

  float bottom_part;
  std::int32_t bottom_units;
  std::int32_t top_units;
};

/// As TensorFlow computes it: left and right first, then top and bottom. `right` is the distance from left to
/// right, in samples.
inline void blend_sample(const std::uint8_t* top, const std::uint8_t* bottom, std::size_t right,
                         const SideWeights& sides, const RowWeights& rows, float* to) {
  const float top_left = top[0], bottom_left = bottom[0];
  const float above = top_left + (static_cast<float>(top[right]) - top_left) * sides.right_part;
  const float below = bottom_left + (static_cast<float>(bottom[right]) - bottom_left) * sides.right_part;
  *to = above + (below - above) * rows.bottom_part;
}

/// Rounded half up. Top and bottom first, in integers, which is faster; the value that is rounded
/// differs from the other's by 1 / 100 at most.
inline void blend_sample(const std::uint8_t* top, const std::uint8_t* bottom, std::size_t right,
                         const SideWeights& sides, const RowWeights& rows, std::uint8_t* to) {
  const std::int32_t before = top[0] * rows.top_units + bottom[0] * rows.bottom_units;
  const std::int32_t after = top[right] * rows.top_units + bottom[right] * rows.bottom_units;
  const float sum =
      static_cast<float>(before) * sides.left_scales[0] + static_cast<float>(after) * sides.right_scales[0];
  *to = static_cast<std::uint8_t>(sum + 0.5F);
}

/// What `blend_pixel` reads at the left corners, and writes.
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

inline __m128i eight_bytes_at(const std::uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

// The sums of four pairs of bytes, each pair weighed with a pair of `units`.
inline __m128 weighed_sums(__m128i pairs, __m128i units) {
  return _mm_cvtepi32_ps(_mm_madd_epi16(_mm_unpacklo_epi8(pairs, _mm_setzero_si128()), units));
}

}  // namespace bilinear_internal

/// Of three or four channels; the right pixel is the one after the left.
template <std::size_t kChannels>
void blend_pixel(const std::uint8_t* top, const std::uint8_t* bottom, const SideWeights& sides,
                 const RowWeights& rows, float* to) {
  using namespace bilinear_internal;
  const __m128 above = between(floats_at(top), floats_at(top + kChannels), sides.right_part);
  const __m128 below = between(floats_at(bottom), floats_at(bottom + kChannels), sides.right_part);
  _mm_storeu_ps(to, between(above, below, rows.bottom_part));
}

template <std::size_t kChannels>
void blend_pixel(const std::uint8_t* top, const std::uint8_t* bottom, const SideWeights& sides,
                 const RowWeights& rows, std::uint8_t* to) {
  using namespace bilinear_internal;
  const __m128i units = _mm_set1_epi32(rows.bottom_units << 16 | rows.top_units);
  const __m128i pairs = _mm_unpacklo_epi8(eight_bytes_at(top), eight_bytes_at(bottom));
  const __m128 left = weighed_sums(pairs, units);
  const __m128 right = weighed_sums(_mm_srli_si128(pairs, 2 * kChannels), units);
  const __m128 sum = _mm_add_ps(_mm_mul_ps(left, _mm_loadu_ps(sides.left_scales.data())),
                                _mm_mul_ps(right, _mm_loadu_ps(sides.right_scales.data())));
  const __m128i whole = _mm_cvttps_epi32(_mm_add_ps(sum, _mm_set1_ps(0.5F)));
  const __m128i narrow = _mm_packs_epi32(whole, whole);
  const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, narrow));
  std::memcpy(to, &bytes, sizeof bytes);
}

#else

template <std::size_t kChannels, typename Sample>
void blend_pixel(const std::uint8_t* top, const std::uint8_t* bottom, const SideWeights& sides,
                 const RowWeights& rows, Sample* to) {
  for (std::size_t i = 0; i < kPixelWrites; ++i)
    blend_sample(top + i, bottom + i, kChannels, sides, rows, to + i);
}

#endif

}  // namespace headrace
