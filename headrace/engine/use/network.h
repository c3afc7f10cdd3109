#pragma once

/// \file The network of Universal Sentence Encoder (Yang et al., 2019, convolutional variant) on a batch of
/// texts that are already token ids.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headrace/engine/use/weights.h"

namespace headrace {

/// Collects token ids and computes whenever it is full; a text may be longer than a batch. One thread at a
/// time; `weights` and `kernels` must outlive it. Memory: about 15 kB per row, at most kRows rows, kept for
/// the next text.
class Network {
 public:
  Network(const UseWeights& weights, const Kernels& kernels) : weights_(weights), kernels_(kernels) {}

  /// Begins a text; its vector of kOutputSize floats will be at `out` once `finish` has been called. A text's
  /// vector depends on its ids only.
  void begin_text(float* out);
  /// More ids of the text begun last. REQUIRES: ids < weights.vocabulary_size()
  void add(std::span<const std::int32_t> ids);
  void end_text();
  /// Computes the remaining rows.
  void finish();

  /// Rows of a batch, tokens and the rows between texts.
  static constexpr std::size_t kRows = 2048;

 private:
  // A text, or as much of it as is in this batch.
  struct Segment {
    float* out = nullptr;
    std::size_t first = 0, last = 0;  // its rows
    std::size_t counted = 0;          // how many of these the batch before has counted
    std::size_t tokens = 0;           // counted so far, in all batches
    bool ended = false;
  };

  void start_segment(const Segment& segment);
  void compute();
  void compute_distinct_tokens();
  void compute_branch(std::size_t index);
  void pool(Segment& segment, float* sum);
  void compute_outputs(std::size_t texts);
  float* product(const float* a, std::size_t stride, std::size_t rows, const PackedMatrix& b,
                 AlignedFloats& out) const;

  const UseWeights& weights_;
  const Kernels& kernels_;
  std::vector<std::int32_t> rows_;  // by row: the token, or padding
  std::vector<Segment> segments_;
  std::vector<std::int32_t> distinct_;              // the batch's tokens in ascending order
  std::vector<std::uint32_t> place_;                // by row: the token's place among them
  AlignedFloats embedded_, projected_, shares_;     // by distinct token
  AlignedFloats hidden_, branches_;                 // by row
  AlignedFloats sums_;                              // by segment
  AlignedFloats carried_sum_{kFeatureSize};         // of the text that goes on in the next batch
  AlignedFloats mean_, y0_, y1_, y2_, z_, direct_;  // by text
};

}  // namespace headrace
