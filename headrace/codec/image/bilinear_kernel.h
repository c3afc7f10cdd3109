#pragma once

/// \file One sample, or four neighbouring ones, between four corners; the innermost work of bilinear resizing.
/// With SSE2, which every x86-64 has, four go at once; without, one by one: the same operations in the same
/// order, hence the same bits. Internal to resize.cc.

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headrace {

/// How much the right corners weigh, as float and in 1 / 2^14; what is left is the left ones'.
struct SideWeights {
  explicit SideWeights(float right)
      : right_part(right), units_of_both(units(right) << 16 | (kUnits - units(right))) {}

  static std::int32_t units(float part) { return static_cast<std::int32_t>(std::lround(part * kUnits)); }
  std::int32_t left_units() const { return units_of_both & 0xffff; }
  std::int32_t right_units() const { return units_of_both >> 16; }

  static constexpr std::int32_t kUnits = 1 << 14;
  float right_part;
  std::int32_t units_of_both;  // the left ones' in the lower 16 bits
};

/// How much top and bottom weigh, of sums in `SideWeights::kUnits`.
struct RowWeights {
  explicit RowWeights(float bottom)
      : bottom_part(bottom),
        top_scale((1 - bottom) / SideWeights::kUnits),
        bottom_scale(bottom / SideWeights::kUnits) {}

  float bottom_part;
  float top_scale;
  float bottom_scale;
};

struct Corners {
  const std::uint8_t* top_left;
  const std::uint8_t* top_right;
  const std::uint8_t* bottom_left;
  const std::uint8_t* bottom_right;
};

/// As TensorFlow computes it: left and right first, then top and bottom.
inline void blend_one(const Corners& from, const SideWeights& sides, const RowWeights& rows, float* to) {
  const float top_left = *from.top_left, bottom_left = *from.bottom_left;
  const float top = top_left + (static_cast<float>(*from.top_right) - top_left) * sides.right_part;
  const float bottom =
      bottom_left + (static_cast<float>(*from.bottom_right) - bottom_left) * sides.right_part;
  *to = top + (bottom - top) * rows.bottom_part;
}

/// Rounded half up; left and right are weighed in integers, which takes half the time. The value that is
/// rounded differs from the other's by 1 / 100 at most.
inline void blend_one(const Corners& from, const SideWeights& sides, const RowWeights& rows,
                      std::uint8_t* to) {
  const std::int32_t top = *from.top_left * sides.left_units() + *from.top_right * sides.right_units();
  const std::int32_t bottom =
      *from.bottom_left * sides.left_units() + *from.bottom_right * sides.right_units();
  const float sum = static_cast<float>(top) * rows.top_scale + static_cast<float>(bottom) * rows.bottom_scale;
  *to = static_cast<std::uint8_t>(sum + 0.5F);
}

#if defined(__SSE2__)

namespace bilinear_internal {

inline __m128i load_bytes(const std::uint8_t* from) {
  std::int32_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return _mm_cvtsi32_si128(bytes);
}

inline __m128 load_floats(const std::uint8_t* from) {
  const __m128i zero = _mm_setzero_si128();
  return _mm_cvtepi32_ps(_mm_unpacklo_epi16(_mm_unpacklo_epi8(load_bytes(from), zero), zero));
}

inline __m128 between(__m128 a, __m128 b, float part) {
  return _mm_add_ps(a, _mm_mul_ps(_mm_sub_ps(b, a), _mm_set1_ps(part)));
}

// The sums of left and right, in SideWeights::kUnits; `units` are four pairs of 16 bits.
inline __m128 weigh(const std::uint8_t* left, const std::uint8_t* right, __m128i units) {
  const __m128i pairs = _mm_unpacklo_epi8(load_bytes(left), load_bytes(right));
  return _mm_cvtepi32_ps(_mm_madd_epi16(_mm_unpacklo_epi8(pairs, _mm_setzero_si128()), units));
}

}  // namespace bilinear_internal

/// Reads four samples at each corner, and writes four.
inline void blend_four(const Corners& from, const SideWeights& sides, const RowWeights& rows, float* to) {
  using namespace bilinear_internal;
  const __m128 top = between(load_floats(from.top_left), load_floats(from.top_right), sides.right_part);
  const __m128 bottom =
      between(load_floats(from.bottom_left), load_floats(from.bottom_right), sides.right_part);
  _mm_storeu_ps(to, between(top, bottom, rows.bottom_part));
}

inline void blend_four(const Corners& from, const SideWeights& sides, const RowWeights& rows,
                       std::uint8_t* to) {
  using namespace bilinear_internal;
  const __m128i units = _mm_set1_epi32(sides.units_of_both);
  const __m128 top = _mm_mul_ps(weigh(from.top_left, from.top_right, units), _mm_set1_ps(rows.top_scale));
  const __m128 bottom =
      _mm_mul_ps(weigh(from.bottom_left, from.bottom_right, units), _mm_set1_ps(rows.bottom_scale));
  const __m128i whole = _mm_cvttps_epi32(_mm_add_ps(_mm_add_ps(top, bottom), _mm_set1_ps(0.5F)));
  const __m128i narrow = _mm_packs_epi32(whole, whole);
  const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, narrow));
  std::memcpy(to, &bytes, sizeof bytes);
}

#else

template <typename Sample>
void blend_four(const Corners& from, const SideWeights& sides, const RowWeights& rows, Sample* to) {
  for (int i = 0; i < 4; ++i) {
    blend_one({from.top_left + i, from.top_right + i, from.bottom_left + i, from.bottom_right + i}, sides,
              rows, to + i);
  }
}

#endif

}  // namespace headrace
