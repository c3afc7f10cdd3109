#pragma once

/// \file Computes which record each row of a batch holds, from sources, epochs, ranks and mixtures. Pure
/// functions; docs/formats/order.md, "Mixtures" and "Batches and ranks".

#include <cstdint>
#include <optional>
#include <vector>

#include "headrace/stream/mixture.h"

namespace headrace {

/// A position in the order of one source.
struct SourcePosition {
  std::size_t source = 0;
  std::uint64_t epoch = 0;     // of the source, not of the mixture
  std::uint64_t position = 0;  // within the epoch
  bool operator==(const SourcePosition&) const = default;
};

/// The plan of all batches. A batch's **sequence** number counts over epochs: epoch · batches_per_epoch +
/// number within the epoch. Immutable, hence thread-safe.
class BatchPlan {
 public:
  struct Source {
    std::uint64_t record_count = 0;  // in an epoch; above 0
    std::uint64_t weight = 1;        // from `mixture_weights`
  };
  /// The rank whose rows are planned. It gets whole micro-shards of each batch.
  struct Share {
    std::uint64_t rank = 0;
    std::uint64_t world_size = 1;
    std::uint64_t micro_shards = 0;  // in a batch; 0: each row is a micro-shard
  };
  /// `batch_size` is the global one.
  /// REQUIRES: at least one source; rank < world_size <= micro_shards, and micro_shards divides batch_size.
  BatchPlan(std::vector<Source> sources, std::uint64_t batch_size, bool drop_remainder, const Share& share);

  /// Never 0 for a mixture. For a single source with drop_remainder, 0 if it has fewer records than a batch.
  std::uint64_t batches_per_epoch() const { return batches_per_epoch_; }
  /// The number of records in an epoch, over all ranks.
  std::uint64_t records_per_epoch() const { return records_per_epoch_; }
  std::uint64_t batch_size() const { return batch_size_; }
  /// The first row of this rank's part of every batch, counted over the rows of all ranks.
  std::uint64_t row_first() const { return row_first_; }
  /// The number of rows in this rank's part of every batch.
  std::uint64_t row_count() const { return row_count_; }
  bool is_mixture() const { return sources_.size() > 1; }
  std::uint64_t weight(std::size_t source) const { return mixture_.weight(source); }
  std::uint64_t total_weight() const { return mixture_.total_weight(); }

  /// The record of row i of the batch, counted over all ranks; none if the row is padding.
  /// REQUIRES: i < batch_size
  std::optional<SourcePosition> record(std::uint64_t sequence, std::uint64_t i) const;
  /// The records of this rank's part, in the order of rows. There are fewer than `row_count` if the rest is
  /// padding.
  std::vector<SourcePosition> rows(std::uint64_t sequence) const;

  /// The records that a batch takes from a source, over all ranks, lie in [begin_of, end_of). These positions
  /// are counted over the source's epochs: epoch · record_count + position. Both ascend with `sequence`.
  std::uint64_t begin_of(std::size_t source, std::uint64_t sequence) const;
  std::uint64_t end_of(std::size_t source, std::uint64_t sequence) const;

 private:
  SourcePosition split_epochs(std::size_t source, std::uint64_t position) const;

  std::vector<Source> sources_;
  Mixture mixture_;
  std::uint64_t batch_size_;
  std::uint64_t row_first_ = 0;  // this rank's first row in a batch
  std::uint64_t row_count_ = 0;
  std::uint64_t records_per_epoch_ = 0;
  std::uint64_t batches_per_epoch_ = 0;
};

}  // namespace headrace
