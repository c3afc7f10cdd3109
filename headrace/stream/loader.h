#pragma once

/// \file Loads batches of datasets in the order of docs/formats/order.md. Reads and decodes in the
/// background; docs/data-loader.md explains how.

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

/// A dataset to read and, in a mixture, its weight.
struct LoaderSource {
  std::shared_ptr<const Dataset> dataset;
  /// The share of the mixture's records is this weight over the sum of all sources' weights. Above 0.
  double weight = 1;
  /// None: the whole dataset.
  std::optional<RecordRange> range{};
  /// The records of the range to read; null: all. A block with one of them is read whole. The selection's 8
  /// bytes for each record count against the memory budget.
  std::shared_ptr<const RecordSelection> selection{};
};

struct LoaderOptions {
  std::vector<Column> columns;
  ImageOptions images{};
  std::uint64_t batch_size = 128;  // global: over all ranks
  ShuffleMode shuffle = ShuffleMode::kWindow;
  /// Rearranges the records within each window. Not allowed with ShuffleMode::kNone. The feature need not be
  /// among the columns.
  WindowArrangement arrangement{};
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  /// False: the last batch of an epoch is filled up with repeated rows of weight 0. True: records that do not
  /// fill a batch are left out. A mixture's batches are always full.
  bool drop_remainder = false;
  std::uint64_t window_bytes = kDefaultWindowBytes;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// The number of equal parts of a batch that are never split over ranks; 0: each row is a part.
  std::uint64_t micro_shards = 0;
  /// The version of docs/formats/order.md. Versions 2 and 3 are the same; version 1 has no arrangement. To
  /// continue a state, use `order_version_of` (loader_state.h).
  int order_version = kOrderVersion;
  /// The position to start from: batch `first_batch` of epoch `first_epoch`.
  std::uint64_t first_epoch = 0;
  std::uint64_t first_batch = 0;
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// The number of threads that read and decode. 0: as many as there are cores, and more while they wait for
  /// the store, within the budget.
  int threads = 0;
  /// True: the loader's threads mostly use processor time that others leave unused, for instance beside a
  /// training step that uses all cores now and then. While the caller waits for a batch, they get all that
  /// they need.
  bool is_in_background = false;
  /// Bounds the memory for windows, for batches (including those that the caller holds) and for the data read
  /// for them. Checked when the loader is made.
  std::uint64_t memory_budget_bytes = 256 << 20;
  /// How long one call of `next` may wait without progress.
  std::chrono::milliseconds patience{300'000};
  /// How long one call of `next` may wait for batches that the caller holds.
  std::chrono::milliseconds hold_patience{30'000};
  /// `next` calls this, in its caller's thread, each time it has waited for another `report_after`. The text
  /// says which thread waits for what. An exception from it passes through `next`; the next call of `next`
  /// then returns the same batch.
  std::function<void(const std::string&)> report{};
  std::chrono::milliseconds report_after{30'000};
  /// True: return the first batch again and again. It shows how fast the caller would be if reading cost
  /// nothing.
  bool headspace = false;
  /// True: keep the events for `trace_json`, at most about 64,000.
  bool trace = false;
  /// A stop request ends `create` and `next` with kCancelled.
  std::stop_token stop{};
};

/// Counts since the loader was made. Seconds are summed over all threads, except `wait_seconds`.
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
  double check_seconds = 0;   // checking records' checksums
  double decode_seconds = 0;  // decoding into batches, and arranging windows
  double idle_seconds = 0;    // threads with nothing to do
  double wait_seconds = 0;    // the caller's waits in `next`
  int threads = 0;            // the number of threads now
  std::uint64_t ready_batches = 0;
  std::uint64_t held_batches = 0;  // held by the caller
};

/// The place of a record.
struct RecordPlace {
  std::size_t source = 0;
  std::uint32_t shard = 0;   // in its dataset
  std::uint64_t record = 0;  // within the shard
  std::string object;        // the shard for people, as Dataset::describe_shard gives it
};

/// Yields batches. Only one thread at a time may call `next`; all other functions may be called from any
/// thread. Destruction ends the loader's threads, within the time of one read from the store.
class BatchLoader {
 public:
  /// Makes a loader and starts its threads. In exact order, first reads the shards' indexes.
  /// \error kInvalidArgument     a column that the schema lacks or has with another type (the message names
  ///                             both); images that `check_images` refuses; an arrangement that
  ///                             `check_arrangement` refuses, or without a shuffled order; a batch size,
  ///                             rank, world size, micro_shards, order version, weight or first position that
  ///                             is out of range
  /// \error kResourceExhausted   the budget is smaller than the memory that must be held at once; the message
  ///                             says how much that is
  /// \error kFailedPrecondition  a source has no records, or all have fewer than one batch; or a shard is
  ///                             lost and the policy is not kSkipShard
  static Result<std::unique_ptr<BatchLoader>> create(std::vector<LoaderSource> sources,
                                                     LoaderOptions options);
  /// Checks whether the budget is enough for such a loader. Reads no record; in exact order, reads the
  /// shards' indexes.
  /// \error  as for `create`, but does not check the first position and that there is at least one batch
  static Status check_memory(const std::vector<LoaderSource>& sources, const LoaderOptions& options);
  virtual ~BatchLoader() = default;

  /// The next batch; none after the last epoch. Blocks until it is ready.
  /// \error kDataLoss            corrupt data under CorruptionPolicy::kFail; the message names object, record
  ///                             and offset
  /// \error kResourceExhausted   the caller holds all batches for which the budget has room
  /// \error kDeadlineExceeded    no progress for `patience`
  /// \error kCancelled           a stop was requested
  /// \error kFailedPrecondition  the loader is closed
  virtual Result<std::optional<Batch>> next() = 0;

  /// Ends the threads, within the time of one read from the store, and frees the data read ahead. Batches
  /// that the caller holds stay valid. `next` then fails with kFailedPrecondition, even if another thread is
  /// waiting in it; all other functions still work.
  virtual void close() = 0;

  virtual std::uint64_t batches_per_epoch() const = 0;
  /// The number of records in an epoch, over all ranks.
  virtual std::uint64_t record_count() const = 0;
  virtual const LoaderOptions& options() const = 0;
  virtual LoaderStats stats() const = 0;
  /// The first hundred messages about skipped records and files. Each record has one message, even if several
  /// epochs meet it.
  virtual std::vector<std::string> remarks() const = 0;
  /// A text for people that says which thread waits for what, with a line for each thread.
  virtual std::string activity() const = 0;
  /// The work of each thread over time, in Chrome's trace format.
  virtual std::string trace_json() const = 0;

  /// The places of the records in this rank's part of a batch, in the order of rows; RecordFinder reads the
  /// records. Without an arrangement, the places are computed and nothing is read. With an arrangement, the
  /// windows of these records are read once more, block by block, for their values; in exact order this needs
  /// room for a window's records. The records of each source's last requested window cost nothing.
  /// \error  errors of reading, as for `next`; none without an arrangement
  virtual Result<std::vector<RecordPlace>> where(std::uint64_t epoch, std::uint64_t batch,
                                                 const CallOptions& call) const = 0;

  /// The order of a dataset in this loader, before the arrangement. Lives as long as the loader.
  /// REQUIRES: i < number of sources
  virtual const Source& source(std::size_t i) const = 0;

  /// The state from which a loader continues with batch `next_batch` of `epoch` (docs/formats/order.md,
  /// "State"). Less than 1 kB.
  virtual std::string state(std::uint64_t epoch, std::uint64_t next_batch) const = 0;
};

/// Describes a row of a batch of this loader in messages: "record 17 of s3://…", or "a record" if the place
/// cannot be found. Cost: as for `where`.
std::string describe_record(const BatchLoader& loader, const Batch& batch, std::size_t row);

}  // namespace headrace
