#pragma once

/// \file Four floats at once: the samples of a pixel. With SSE2, which every x86-64 has, or without: the same
/// operations in the same order, hence the same bits.

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headrace {

#if defined(__SSE2__)

class FourLanes {
 public:
  static FourLanes load(const std::uint8_t* from) {
    std::int32_t bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    const __m128i zero = _mm_setzero_si128();
    const __m128i wide = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero);
    return FourLanes(_mm_cvtepi32_ps(_mm_unpacklo_epi16(wide, zero)));
  }

  /// `a + (b - a) · weight`, each operation rounded.
  static FourLanes between(FourLanes a, FourLanes b, float weight) {
    const __m128 part = _mm_mul_ps(_mm_sub_ps(b.values_, a.values_), _mm_set1_ps(weight));
    return FourLanes(_mm_add_ps(a.values_, part));
  }

  void store(float* to) const { _mm_storeu_ps(to, values_); }
  /// Rounded, half up. REQUIRES: 0 to 255.
  void store(std::uint8_t* to) const {
    const __m128i whole = _mm_cvttps_epi32(_mm_add_ps(values_, _mm_set1_ps(0.5F)));
    const __m128i narrow = _mm_packs_epi32(whole, whole);
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, narrow));
    std::memcpy(to, &bytes, sizeof bytes);
  }

 private:
  explicit FourLanes(__m128 values) : values_(values) {}
  __m128 values_;
};

#else

class FourLanes {
 public:
  static FourLanes load(const std::uint8_t* from) {
    FourLanes lanes;
    std::copy_n(from, 4, lanes.values_);
    return lanes;
  }
  static FourLanes between(FourLanes a, FourLanes b, float weight) {
    for (int i = 0; i < 4; ++i) a.values_[i] += (b.values_[i] - a.values_[i]) * weight;
    return a;
  }
  void store(float* to) const { std::copy_n(values_, 4, to); }
  void store(std::uint8_t* to) const {
    for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(values_[i] + 0.5F);
  }

 private:
  float values_[4];
};

#endif

}  // namespace headrace
