#pragma once

/// \file Batches of datasets, in the order of docs/formats/order.md, read and decoded in the background.
/// How: docs/data-loader.md.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/stream/batch.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/image_options.h"
#include "headrace/stream/source.h"

namespace headrace {

/// A dataset to read and, in a mixture, its share.
struct LoaderSource {
  std::shared_ptr<const Dataset> dataset;
  /// Share of the mixture's records: this weight over the sum of all sources' weights.
  double weight = 1;
  /// None: the whole dataset.
  std::optional<RecordRange> range{};
  /// Only these of the range; null: all. Blocks with one of them are read whole. Its 8 bytes for each record
  /// count against the budget.
  std::shared_ptr<const RecordSelection> selection{};
};

struct LoaderOptions {
  std::vector<Column> columns;
  ImageOptions images{};
  std::uint64_t batch_size = 128;  // global
  ShuffleMode shuffle = ShuffleMode::kWindow;
  /// Rearranges the records within each window; not with ShuffleMode::kNone. The feature need not be among
  /// the columns.
  WindowArrangement arrangement{};
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  /// False: the last batch of an epoch is filled up with repeated rows of weight 0. A mixture's batches are
  /// always full.
  bool drop_remainder = false;
  std::uint64_t window_bytes = kDefaultWindowBytes;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// Number of equal parts of a batch that are never split over ranks; 0: each row is a part.
  std::uint64_t micro_shards = 0;
  /// Version of docs/formats/order.md: 2 and 3 are the same, 1 has no arrangement. To continue a state, use
  /// order_version_of (loader_state.h).
  int order_version = kOrderVersion;
  /// Where to start: batch `first_batch` of epoch `first_epoch`.
  std::uint64_t first_epoch = 0;
  std::uint64_t first_batch = 0;
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// Threads that read and decode. 0: as many as there are cores, and more while they wait for the store,
  /// within the budget.
  int threads = 0;
  /// Its threads mostly take processor time that nobody else wants, such as a step of training that uses all
  /// cores now and then. They get all that they need while the caller waits for a batch.
  bool is_in_background = false;
  /// Bounds windows, batches (including those that the caller holds) and the data read for them. Checked when
  /// the loader is made.
  std::uint64_t memory_budget_bytes = 256 << 20;
  /// Bound of one wait in `next` without progress.
  std::chrono::milliseconds patience{300'000};
  /// Bound of one wait for batches that the caller holds.
  std::chrono::milliseconds hold_patience{30'000};
  /// Called, by the caller of `next`, with a text about who waits for what, after each `report_after` of one
  /// wait. Its exceptions pass through `next`; `next` may be called again, and returns the batch that was
  /// waited for.
  std::function<void(const std::string&)> report{};
  std::chrono::milliseconds report_after{30'000};
  /// Returns the first batch again and again: shows how fast the rest could be if reading cost nothing.
  bool headspace = false;
  /// Keeps the events for `trace_json`, at most about 64,000.
  bool trace = false;
  std::stop_token stop{};
};

/// Counts since the loader was made. Seconds are of all threads together, except `wait_seconds`.
struct LoaderStats {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  std::uint64_t decoded_bytes = 0;    // of columns
  std::uint64_t corrupt_records = 0;  // counted again in each epoch
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double check_seconds = 0;   // of records' checksums
  double decode_seconds = 0;  // into batches, and for arranging windows
  double idle_seconds = 0;    // of threads with nothing to do
  double wait_seconds = 0;    // of the caller, in `next`
  int threads = 0;            // that work at present
  std::uint64_t ready_batches = 0;
  std::uint64_t held_batches = 0;  // by the caller
};

/// Where a record lies.
struct RecordPlace {
  std::size_t source = 0;
  std::uint32_t shard = 0;   // of its dataset
  std::uint64_t record = 0;  // within the shard
  std::string object;        // as the store describes it
};

/// One consumer at a time; its threads end when it is destroyed, within the time of one read from the store.
class BatchLoader {
 public:
  /// \error kInvalidArgument     a column that the schema lacks or has with another type (both are named),
  ///                             images that check_images refuses, an arrangement that check_arrangement
  ///                             refuses or that has no shuffled order, rank ≥ world size, a weight that is
  ///                             not above 0
  /// \error kResourceExhausted   the budget is smaller than the memory that must be held at once; the message
  ///                             says how much that is
  /// \error kFailedPrecondition  no records
  static Result<std::unique_ptr<BatchLoader>> create(std::vector<LoaderSource> sources,
                                                     LoaderOptions options);
  /// Whether the budget suffices for such a loader. No record is read.
  /// \error as `create`, but for kFailedPrecondition
  static Status check_memory(const std::vector<LoaderSource>& sources, const LoaderOptions& options);
  virtual ~BatchLoader() = default;

  /// The next batch; none after the last epoch.
  /// \error kDataLoss           corrupt data under CorruptionPolicy::kFail; names object, record and offset
  /// \error kResourceExhausted  the caller holds all batches that the budget has room for
  /// \error kDeadlineExceeded   no progress for `patience`
  virtual Result<std::optional<Batch>> next() = 0;

  /// Ends the threads, within the time of one read from the store, and frees the data read ahead. Batches
  /// that were handed out stay. `next` fails with kFailedPrecondition, also if another thread is waiting in
  /// it; all other calls answer as before.
  virtual void close() = 0;

  virtual std::uint64_t batches_per_epoch() const = 0;
  /// Number of records in an epoch, over all ranks.
  virtual std::uint64_t record_count() const = 0;
  virtual const LoaderOptions& options() const = 0;
  virtual LoaderStats stats() const = 0;
  /// Messages about skipped records and files, the first hundred; one per record, however many epochs met it.
  virtual std::vector<std::string> remarks() const = 0;
  /// Tells people which thread waits for what, one line each.
  virtual std::string activity() const = 0;
  /// The work of each thread over time, in Chrome's trace format.
  virtual std::string trace_json() const = 0;

  /// The records of this rank's part of a batch; RecordFinder reads them. Computed, not remembered. With an
  /// arrangement, the windows of these records are read once more, block by block, for their values; in exact
  /// order with room for a window's records. Records of a window that was asked about last cost nothing.
  /// \error of reading, as `next`; never without an arrangement
  virtual Result<std::vector<RecordPlace>> where(std::uint64_t epoch, std::uint64_t batch,
                                                 const CallOptions& call) const = 0;

  /// The order of a dataset in this loader, before it is arranged. REQUIRES: i < number of sources
  virtual const Source& source(std::size_t i) const = 0;

  /// docs/formats/order.md, "State": the state that continues after batch `next_batch` − 1 of `epoch`; less
  /// than 1 kB.
  virtual std::string state(std::uint64_t epoch, std::uint64_t next_batch) const = 0;
};

/// For messages about a row of a batch that the loader has made: "record 17 of s3://…"; "a record" if that
/// cannot be told. Cost: as `where`.
std::string describe_record(const BatchLoader& loader, const Batch& batch, std::size_t row);

}  // namespace headrace
