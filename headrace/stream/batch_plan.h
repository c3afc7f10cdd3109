#pragma once

/// \file Which record each row of a batch is, from sources, epochs, ranks and mixtures. Pure functions;
/// docs/formats/order.md, "Mixtures" and "Batches and ranks".

#include <cstdint>
#include <optional>
#include <vector>

#include "headrace/stream/mixture.h"

namespace headrace {

/// A position in the order of one source: `epoch` counts that source's own epochs.
struct SourcePosition {
  std::size_t source = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // within the epoch
  bool operator==(const SourcePosition&) const = default;
};

/// Batches are numbered in **sequence**, over epochs: epoch · batches_per_epoch + number within the epoch.
/// Immutable, hence thread-safe.
class BatchPlan {
 public:
  struct Source {
    std::uint64_t record_count = 0;  // of an epoch, above 0
    std::uint64_t weight = 1;        // as `mixture_weights` gives it
  };
  /// The rank whose rows are planned. It gets whole micro-shards of each batch.
  struct Share {
    std::uint64_t rank = 0;
    std::uint64_t world_size = 1;
    std::uint64_t micro_shards = 0;  // of a batch; 0: each row is one
  };
  /// REQUIRES: at least one source; rank < world_size <= micro_shards, which divides batch_size
  BatchPlan(std::vector<Source> sources, std::uint64_t batch_size, bool drop_remainder, const Share& share);

  /// For a mixture never 0; for one source with drop_remainder 0 if it has fewer records than a batch.
  std::uint64_t batches_per_epoch() const { return batches_per_epoch_; }
  /// Number of records in an epoch, over all ranks.
  std::uint64_t records_per_epoch() const { return records_per_epoch_; }
  std::uint64_t batch_size() const { return batch_size_; }
  /// The first of this rank's part of every batch, among the rows of all ranks.
  std::uint64_t row_first() const { return row_first_; }
  /// Rows of this rank's part of every batch.
  std::uint64_t row_count() const { return row_count_; }
  bool is_mixture() const { return sources_.size() > 1; }
  std::uint64_t weight(std::size_t source) const { return mixture_.weight(source); }
  std::uint64_t total_weight() const { return mixture_.total_weight(); }

  /// Record i of the batch, counted over all ranks; none if row i is padding. REQUIRES: i < batch_size
  std::optional<SourcePosition> record(std::uint64_t sequence, std::uint64_t i) const;
  /// The records of this rank's part, in the order of rows; fewer than `row_count` if the rest is padding.
  std::vector<SourcePosition> rows(std::uint64_t sequence) const;

  /// The records that a batch takes from a source, over all ranks, lie in [begin_of, end_of). Positions are
  /// counted here over the source's epochs: epoch · record_count + position. Both ascend with `sequence`.
  std::uint64_t begin_of(std::size_t source, std::uint64_t sequence) const;
  std::uint64_t end_of(std::size_t source, std::uint64_t sequence) const;

 private:
  SourcePosition split_epochs(std::size_t source, std::uint64_t position) const;

  std::vector<Source> sources_;
  Mixture mixture_;
  std::uint64_t batch_size_;
  std::uint64_t row_first_ = 0;  // of this rank, within the batch
  std::uint64_t row_count_ = 0;
  std::uint64_t records_per_epoch_ = 0;
  std::uint64_t batches_per_epoch_ = 0;
};

}  // namespace headrace
