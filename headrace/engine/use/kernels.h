#pragma once

/// \file The inner loops of the encoder, once per instruction set. All sets give the same bits: the order of
/// each sum does not depend on the width of a vector, and multiply-adds are fused only in the matrix product.

#include <cstddef>
#include <cstdint>

#include "headrace/engine/use/instruction_set.h"

namespace headrace {

/// The number of columns in a panel of a packed matrix, whose layout is [panel][row][kPanelColumns].
inline constexpr std::size_t kPanelColumns = 32;
/// The number of rows that a product may read and write beyond the requested ones.
inline constexpr std::size_t kRowSlack = 16;

/// `rows` rows of `inner` floats each, which begin `stride` floats apart.
struct MatrixView {
  const float* data;
  std::size_t rows, inner, stride;
};

/// Layer normalisation (Ba et al., 2016): (x − mean) / √(variance + epsilon) · gain + offset.
struct LayerNorm {
  const float* gain;
  const float* offset;
  float epsilon;
};

struct Kernels {
  /// c[r][n] = the chain of fused multiply-adds of a[r][k] · b[k][n] over k = 0 … inner−1, from 0. `b` is
  /// packed; `columns` is a multiple of kPanelColumns. REQUIRES: `a` and `c` have room for kRowSlack more
  /// rows.
  void (*multiply)(const MatrixView& a, const float* b, std::size_t columns, float* c, std::size_t c_stride);
  /// row[i] = codes[i] · scale + low
  void (*dequantise)(const std::uint8_t* codes, float scale, float low, std::size_t size, float* row);
  /// row = norm(row + bias), in place; `size` is a multiple of 16. `bias` may be null.
  void (*add_and_normalise)(const float* bias, const LayerNorm& norm, std::size_t size, float* row);
  /// out = max(Σ parts + bias, 0) + residual; the parts are added in order; `size` is a multiple of 16.
  void (*sum_relu_add)(const float* const* parts, std::size_t count, const float* bias, const float* residual,
                       std::size_t size, float* out);
  /// sum += row
  void (*accumulate)(const float* row, std::size_t size, float* sum);
};

/// REQUIRES: is_supported(set)
const Kernels& kernels(InstructionSet set);

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

}  // namespace headrace
