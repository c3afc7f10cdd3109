#include <immintrin.h>

#include "headrace/engine/use/kernels_template.h"

namespace headrace {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr std::size_t kLanes = 16, kRows = 14, kVectors = 2;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
  static Vector broadcast(float value) { return _mm512_set1_ps(value); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

const Kernels& avx512_kernels() { return kKernels<Avx512>; }

}  // namespace headrace
