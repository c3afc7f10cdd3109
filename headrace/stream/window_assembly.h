#pragma once

/// \file Which place of which batch each record of a window takes, and the batches that are being filled.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "headrace/stream/batch.h"
#include "headrace/stream/order.h"

namespace headrace {

/// How positions of an epoch become rows of this rank's batches.
struct BatchLayout {
  std::uint64_t record_count = 0;  // of an epoch
  std::uint64_t batch_size = 1;    // global
  std::uint64_t batches_per_epoch = 0;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;

  BatchSlice slice(std::uint64_t batch) const {
    return batch_slice(record_count, batch_size, batch, rank, world_size);
  }
  std::uint64_t rows(std::uint64_t batch) const {
    const BatchSlice found = slice(batch);
    return found.record_count + found.padding;
  }
};

/// A batch under construction. `sequence` counts batches over epochs: epoch · batches_per_epoch + number.
struct PendingBatch {
  Batch batch;
  std::uint64_t first_position = 0;
  std::uint64_t missing = 0;  // records of the slice that no block has delivered yet
};

/// One window that is being read: the blocks still to be handed out, and where its records go.
struct OpenWindow {
  std::uint64_t epoch = 0;
  std::shared_ptr<const EpochOrder> order;
  EpochOrder::Window window;
  /// By record in the window (in the order of its permuted blocks): its position less
  /// `window.first_position`.
  std::vector<std::uint32_t> position_of_record;
  std::uint64_t next_block = 0;  // the first one that no thread has taken
  /// The batches that its positions fall into, as sequence numbers; empty if first > last.
  std::uint64_t first_sequence = 0;
  std::uint64_t end_sequence = 0;
};

/// Opens window `number` of an epoch. Cost: one permutation step a record. REQUIRES: under 2^32 records in it
OpenWindow open_window(std::uint64_t epoch, std::shared_ptr<const EpochOrder> order, std::uint64_t number,
                       const BatchLayout& layout);

/// Puts the first good row into every place of weight 0 and counts the good ones; a batch without any becomes
/// zeros.
void fill_empty_places(Batch& batch, const std::vector<Column>& columns);

}  // namespace headrace
