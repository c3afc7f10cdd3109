#pragma once

/// \file The inner loops of the encoder, once per instruction set. All give the same bits: each sum has one
/// order that does not depend on the width of a vector, and multiply-adds are fused in the matrix product and
/// nowhere else.

#include <cstddef>
#include <cstdint>

#include "headrace/engine/use/instruction_set.h"

namespace headrace {

/// Columns of a packed matrix that lie together: [panel][row][kPanelColumns].
inline constexpr std::size_t kPanelColumns = 32;
/// A product may read and write this many rows beyond those asked for.
inline constexpr std::size_t kRowSlack = 16;

/// a: `rows` rows of `inner` floats, `stride` floats apart.
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
  /// c[r][n] = fma chain over k = 0 … inner−1 of a[r][k] · b[k][n], from 0. `b` is packed; `columns` is a
  /// multiple of kPanelColumns. REQUIRES: kRowSlack more rows behind a and c.
  void (*multiply)(const MatrixView& a, const float* b, std::size_t columns, float* c, std::size_t c_stride);
  /// row[i] = codes[i] · scale + low
  void (*dequantise)(const std::uint8_t* codes, float scale, float low, std::size_t size, float* row);
  /// row = norm(row + bias), in place; `size` is a multiple of 16. `bias` may be null.
  void (*add_and_normalise)(const float* bias, const LayerNorm& norm, std::size_t size, float* row);
  /// out = max(Σ parts + bias, 0) + residual, parts added in order; `size` is a multiple of 16.
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
