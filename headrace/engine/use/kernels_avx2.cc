#include <immintrin.h>

#include "headrace/engine/use/kernels_template.h"

namespace headrace {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr std::size_t kLanes = 8, kRows = 6, kVectors = 2;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
  static Vector broadcast(float value) { return _mm256_set1_ps(value); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

const Kernels& avx2_kernels() { return kKernels<Avx2>; }

}  // namespace headrace
