#include "headrace/engine/use/kernels_template.h"

namespace headrace {
namespace {

struct Portable {
  struct Vector {
    float lane[4];
  };
  static constexpr std::size_t kLanes = 4, kRows = 2, kVectors = 2;
  static Vector load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static void store(float* to, const Vector& value) {
    for (std::size_t i = 0; i < kLanes; ++i) to[i] = value.lane[i];
  }
  static Vector broadcast(float value) { return {{value, value, value, value}}; }
  static Vector multiply_add(const Vector& a, const Vector& b, Vector c) {
    for (std::size_t i = 0; i < kLanes; ++i) c.lane[i] = __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]);
    return c;
  }
};

}  // namespace

const Kernels& portable_kernels() { return kKernels<Portable>; }

}  // namespace headrace
