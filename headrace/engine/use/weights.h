#pragma once

/// \file The weights of Universal Sentence Encoder, multilingual, version 3, in the layout of the inner
/// loops.

#include <array>
#include <cstdint>

#include "headrace/base/result.h"
#include "headrace/engine/use/aligned_floats.h"
#include "headrace/engine/use/kernels.h"
#include "headrace/engine/use/npz.h"

namespace headrace {

/// The model's sizes. A token's embedding is projected to three branches, one for each n-gram order. Each
/// branch has two convolutions. The embedding and the branches together are the token's features.
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

/// One branch: a window over `order` tokens, with `left` tokens before the one in the middle.
struct BranchWeights {
  std::size_t order = 0, left = 0;
  PackedMatrix first;   // kBranchSize × order·kBranchSize: a token's share in each of its windows
  PackedMatrix second;  // order·kBranchSize × kBranchSize
  AlignedFloats first_bias, second_bias;
};

struct UseWeights {
  /// The embedding of token i is row i / 17 of table i mod 17: one byte per element, times that table's
  /// scale, plus its low.
  static constexpr std::size_t kTables = 17;
  std::array<NpyArray, kTables> tables;
  std::array<float, kTables> scale{}, low{};

  PackedMatrix projection;
  AlignedFloats projection_bias;
  Normalisation projected, features;
  std::array<BranchWeights, kBranches> branches;
  PackedMatrix pooled;
  AlignedFloats pooled_bias;
  PackedMatrix d0, d1, d2, d3, p1, p3;  // the residual network that follows, with the names in the file
  float epsilon = 0;

  std::size_t vocabulary_size() const { return kTables * tables[0].shape[0]; }
  /// The kEmbeddingSize bytes of the token's embedding. REQUIRES: token < vocabulary_size()
  const std::uint8_t* codes(std::size_t token) const {
    const BytesView data = tables[token % kTables].data();
    return reinterpret_cast<const std::uint8_t*>(data.data()) + token / kTables * kEmbeddingSize;
  }
};

/// Reads the weights from the bytes of weights.npz, on at most `threads` threads. Cost: about 0.2 s of CPU
/// time, 80 MB.
/// \error kDataLoss         malformed
/// \error kInvalidArgument  not this model: an array is missing, or has another type or shape
Result<UseWeights> parse_use_weights(BytesView npz, int threads);

}  // namespace headrace
