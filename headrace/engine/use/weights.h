#pragma once

/// \file The weights of Universal Sentence Encoder, multilingual, version 3, laid out for the inner loops.

#include <array>
#include <cstdint>

#include "headrace/base/result.h"
#include "headrace/engine/use/aligned_floats.h"
#include "headrace/engine/use/kernels.h"
#include "headrace/engine/use/npz.h"

namespace headrace {

/// The model's sizes. A token's embedding is projected to three branches, one for each n-gram order, of two
/// convolutions each; embedding and branches together make a token's features.
inline constexpr std::size_t kEmbeddingSize = 512, kBranchSize = 256, kBranches = 3;
inline constexpr std::size_t kProjectedSize = kBranches * kBranchSize;
inline constexpr std::size_t kFeatureSize = kEmbeddingSize + kProjectedSize;
inline constexpr std::size_t kHiddenSize = 320, kOutputSize = 512;
inline constexpr std::size_t kMaxOrder = 5;

/// A matrix in the layout that Kernels::multiply takes.
struct PackedMatrix {
  std::size_t rows = 0, columns = 0;
  AlignedFloats panels;
};

struct Normalisation {
  AlignedFloats gain, offset;
};

/// One branch: a window over `order` tokens, `left` of them before the one in the middle.
struct BranchWeights {
  std::size_t order = 0, left = 0;
  PackedMatrix first;   // kBranchSize × order·kBranchSize: each token's share in the windows it lies in
  PackedMatrix second;  // order·kBranchSize × kBranchSize
  AlignedFloats first_bias, second_bias;
};

struct UseWeights {
  /// Embedding of token i: row i / 17 of table i mod 17, one byte an element, · scale + low of that table.
  static constexpr std::size_t kTables = 17;
  std::array<NpyArray, kTables> tables;
  std::array<float, kTables> scale{}, low{};

  PackedMatrix projection;
  AlignedFloats projection_bias;
  Normalisation projected, features;
  std::array<BranchWeights, kBranches> branches;
  PackedMatrix pooled;
  AlignedFloats pooled_bias;
  PackedMatrix d0, d1, d2, d3, p1, p3;  // the residual network behind, as the file names them
  float epsilon = 0;

  std::size_t vocabulary_size() const { return kTables * tables[0].shape[0]; }
  const std::uint8_t* codes(std::size_t token) const {
    const BytesView data = tables[token % kTables].data();
    return reinterpret_cast<const std::uint8_t*>(data.data()) + token / kTables * kEmbeddingSize;
  }
};

/// From the bytes of weights.npz, on at most `threads` threads. DATA_LOSS if malformed, INVALID_ARGUMENT if
/// it is not this model (an array missing, or of another type or shape). About 0.2 s of CPU time, 80 MB.
Result<UseWeights> parse_use_weights(BytesView npz, int threads);

}  // namespace headrace
