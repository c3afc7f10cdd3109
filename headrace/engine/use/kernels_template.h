#pragma once

// The loops of kernels.h, over a vector type. One source file per instruction set includes this file and is
// compiled for that set. Therefore everything here has internal linkage and uses no function of the standard
// library: otherwise the linker could keep, for all sets, a copy that was compiled for a newer processor.
// Compiled with -ffp-contract=off.
//
// `Simd` has: Vector, kLanes (floats in a Vector), kRows and kVectors (rows, and Vectors in a row, of the
// block held in registers), and load, store, broadcast, multiply_add (fused).

#include "headrace/engine/use/kernels.h"

namespace headrace {
namespace {

// Sums use sixteen lanes, whatever the width of the machine's vectors.
typedef float Lanes __attribute__((vector_size(64)));
typedef float LanesInMemory __attribute__((vector_size(64), aligned(4), may_alias));
constexpr std::size_t kLaneCount = 16;

inline Lanes load(const float* from) { return *reinterpret_cast<const LanesInMemory*>(from); }
inline void store(float* to, Lanes values) { *reinterpret_cast<LanesInMemory*>(to) = values; }

inline float sum_of_lanes(Lanes sums) {
  float sum[kLaneCount];
  store(sum, sums);
  for (std::size_t width = kLaneCount / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sum[i] += sum[i + width];
  }
  return sum[0];
}

template <typename Simd>
inline void multiply_block(const float* a, std::size_t stride, std::size_t inner, const float* b, float* c,
                           std::size_t c_stride) {
  typename Simd::Vector sums[Simd::kRows][Simd::kVectors];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Simd::kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Simd::kVectors; ++v) sums[r][v] = Simd::broadcast(0);
  }
  for (std::size_t k = 0; k < inner; ++k, b += kPanelColumns) {
    typename Simd::Vector row[Simd::kVectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Simd::kVectors; ++v) row[v] = Simd::load(b + v * Simd::kLanes);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Simd::kRows; ++r) {
      const typename Simd::Vector value = Simd::broadcast(a[r * stride + k]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Simd::kVectors; ++v)
        sums[r][v] = Simd::multiply_add(value, row[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Simd::kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Simd::kVectors; ++v)
      Simd::store(c + r * c_stride + v * Simd::kLanes, sums[r][v]);
  }
}

template <typename Simd>
void multiply(const MatrixView& a, const float* b, std::size_t columns, float* c, std::size_t c_stride) {
  constexpr std::size_t kStep = Simd::kVectors * Simd::kLanes;
  // The number of rows that stay in the second-level cache while all panels of b are read.
  constexpr std::size_t kGroup = Simd::kRows * (112 / Simd::kRows);
  for (std::size_t first = 0; first < a.rows; first += kGroup) {
    const std::size_t last = first + kGroup < a.rows ? first + kGroup : a.rows;
    for (std::size_t column = 0; column < columns; column += kPanelColumns) {
      const float* panel = b + column * a.inner;
      for (std::size_t row = first; row < last; row += Simd::kRows) {
        for (std::size_t part = 0; part < kPanelColumns; part += kStep) {
          multiply_block<Simd>(a.data + row * a.stride, a.stride, a.inner, panel + part,
                               c + row * c_stride + column + part, c_stride);
        }
      }
    }
  }
}

void dequantise(const std::uint8_t* codes, float scale, float low, std::size_t size, float* row) {
  for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<float>(codes[i]) * scale + low;
}

void add_and_normalise(const float* bias, const LayerNorm& norm, std::size_t size, float* row) {
  Lanes sums = {};
  for (std::size_t i = 0; i < size; i += kLaneCount) {
    if (bias != nullptr) store(row + i, load(row + i) + load(bias + i));
    sums += load(row + i);
  }
  const float mean = sum_of_lanes(sums) / static_cast<float>(size);
  Lanes squares = {};
  for (std::size_t i = 0; i < size; i += kLaneCount) {
    const Lanes difference = load(row + i) - mean;
    store(row + i, difference);
    squares += difference * difference;
  }
  const float variance = sum_of_lanes(squares) / static_cast<float>(size);
  const float scale = 1 / __builtin_sqrtf(variance + norm.epsilon);
  for (std::size_t i = 0; i < size; i += kLaneCount) {
    store(row + i, load(row + i) * scale * load(norm.gain + i) + load(norm.offset + i));
  }
}

void sum_relu_add(const float* const* parts, std::size_t count, const float* bias, const float* residual,
                  std::size_t size, float* out) {
  for (std::size_t i = 0; i < size; i += kLaneCount) {
    Lanes sum = load(parts[0] + i);
    for (std::size_t part = 1; part < count; ++part) sum += load(parts[part] + i);
    sum += load(bias + i);
    store(out + i, (sum > 0 ? sum : Lanes{}) + load(residual + i));
  }
}

void accumulate(const float* row, std::size_t size, float* sum) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += row[i];
}

template <typename Simd>
constexpr Kernels kKernels = {multiply<Simd>, dequantise, add_and_normalise, sum_relu_add, accumulate};

}  // namespace
}  // namespace headrace
