#pragma once

/// \file Batches of a data set, in the order of docs/formats/order.md, decoded in the background.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/stream/batch.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// Records first … first + count − 1 in data-set order.
struct RecordRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct LoaderOptions {
  std::vector<Column> columns;
  std::uint64_t batch_size = 128;  // global
  ShuffleMode shuffle = ShuffleMode::kWindow;
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  bool drop_remainder = false;
  std::uint64_t window_bytes = kDefaultWindowBytes;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// None: the whole data set.
  std::optional<RecordRange> range{};
  /// Where to start: batch `first_batch` of epoch `first_epoch`.
  std::uint64_t first_epoch = 0;
  std::uint64_t first_batch = 0;
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// Threads that read and decode.
  int threads = 1;
  /// Bounds batches, and what is read for them. Checked when the loader is made.
  std::uint64_t memory_budget_bytes = 256 << 20;
  /// Bound of one wait in `next` without progress.
  std::chrono::milliseconds patience{300'000};
  std::stop_token stop{};
};

/// Since the loader was made. Seconds are of all threads together.
struct LoaderStats {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  std::uint64_t corrupt_records = 0;  // in each epoch anew
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double decode_seconds = 0;
  double wait_seconds = 0;  // of the caller, in `next`
};

/// Where a record lies.
struct RecordPlace {
  std::string object;        // as the store describes it
  std::uint64_t record = 0;  // within the object
};

/// One consumer at a time; its threads end when it goes, within the time of one read from the store.
class BatchLoader {
 public:
  /// \error kInvalidArgument     a column that the schema lacks or has otherwise (both are named), or rank ≥
  ///                             world size
  /// \error kResourceExhausted   the budget is smaller than two windows need; the message says how much they
  ///                             need
  /// \error kFailedPrecondition  no records
  static Result<std::unique_ptr<BatchLoader>> create(std::shared_ptr<const Dataset> dataset,
                                                     LoaderOptions options);
  virtual ~BatchLoader() = default;

  /// The next batch; none after the last epoch. The batch's buffer is used again once it is gone: at most
  /// those of two windows are filled at a time.
  /// \error kDataLoss  corrupt data under CorruptionPolicy::kFail; names object, record and offset
  virtual Result<std::optional<Batch>> next() = 0;

  virtual std::uint64_t batches_per_epoch() const = 0;
  virtual std::uint64_t record_count() const = 0;
  virtual LoaderStats stats() const = 0;
  /// Messages about what was skipped, the first hundred; one a record, however many epochs met it.
  virtual std::vector<std::string> remarks() const = 0;

  /// The records of this rank's part of a batch, computed, not remembered.
  virtual std::vector<RecordPlace> where(std::uint64_t epoch, std::uint64_t batch) const = 0;

  /// docs/formats/order.md, "State": what continues after batch `next_batch` − 1 of `epoch`; less than 1 kB.
  virtual std::string state(std::uint64_t epoch, std::uint64_t next_batch) const = 0;
};

/// The position in a state; the state must be of this data set and these options.
/// \error kFailedPrecondition  it is of another: the message says what differs.
/// \error kDataLoss            it is damaged
struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};
Result<LoaderPosition> parse_loader_state(std::string_view state, const Dataset& dataset,
                                          const LoaderOptions& options);

}  // namespace headrace
