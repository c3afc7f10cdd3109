#pragma once

/// \file Runs the network of Universal Sentence Encoder (Yang et al., 2019, convolutional variant) on a batch
/// of texts that are already token ids.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headrace/engine/use/weights.h"

namespace headrace {

/// Collects token ids in a batch of rows and computes whenever the batch is full. A text may be longer than a
/// batch. Borrows `weights` and `kernels`, which must outlive the network. Memory: about 15 kB per row, for
/// at most kRows rows, kept for later texts. Not thread-safe.
class Network {
 public:
  Network(const UseWeights& weights, const Kernels& kernels) : weights_(weights), kernels_(kernels) {}

  /// Begins a text. Its vector of kOutputSize floats is written to `out`, at the latest by `finish`. The
  /// vector depends only on the text's ids.
  void begin_text(float* out);
  /// Adds ids to the text begun last. REQUIRES: ids < weights.vocabulary_size()
  void add(std::span<const std::int32_t> ids);
  void end_text();
  /// Computes the remaining rows. All vectors are complete afterwards.
  void finish();

  /// The number of rows in a batch: one for each token, and some between texts.
  static constexpr std::size_t kRows = 2048;

 private:
  // A text, or the part of it that is in this batch.
  struct Segment {
    float* out = nullptr;
    std::size_t first = 0, last = 0;  // its rows
    std::size_t counted = 0;          // the number of these rows that the sum already includes
    std::size_t tokens = 0;           // the number of tokens in the sum so far, from all batches
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
  std::vector<std::uint32_t> place_;                // by row: the token's index in `distinct_`
  AlignedFloats embedded_, projected_, shares_;     // by distinct token
  AlignedFloats hidden_, branches_;                 // by row
  AlignedFloats sums_;                              // by segment
  AlignedFloats carried_sum_{kFeatureSize};         // of the text that continues in the next batch
  AlignedFloats mean_, y0_, y1_, y2_, z_, direct_;  // by text
};

}  // namespace headrace
