#pragma once

/// \file A source: a dataset, or a part of it, with the order of its records and the windows in which they
/// are read; and the place of each position of a window in memory.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/stream/dataset.h"
#include "headrace/stream/loaded_block.h"
#include "headrace/stream/order.h"

namespace headrace {

/// A record of a source, found.
struct SourceRecord {
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  // within the shard
  bool operator==(const SourceRecord&) const = default;
};

/// Positions first_position … + record_count − 1 of one epoch of a source, and the blocks that hold them.
/// Made by Source::window. Threads load its blocks, each once; its records are read when all blocks are
/// loaded.
class Window {
 public:
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t first_position() const { return first_position_; }
  std::uint64_t record_count() const { return record_count_; }
  /// The ranges that are fetched as a whole; in exact order, the ranges around the wanted records.
  const std::vector<DatasetBlock>& blocks() const { return blocks_; }

  /// Loads block `i` with `loader`. Different blocks may be loaded at the same time.
  Status load(std::size_t i, BlockLoader& loader, const CallOptions& call);
  /// True if both hold all records of an epoch of the same source, and not in exact order.
  bool is_same_epoch(const Window& other) const;
  /// Takes the blocks from another window. REQUIRES: is_same_epoch, and its blocks are loaded
  void share(const Window& from);

  /// A record in memory, which lives as long as the window; or the reason why there is none.
  struct Place {
    BytesView data;
    const Error* hole = nullptr;
  };
  /// REQUIRES: the position belongs to the window, and its blocks are loaded
  Place place(std::uint64_t position) const;

 private:
  friend class Source;
  Window() = default;
  Status keep(std::size_t i, const LoadedBlock& block);

  std::uint64_t epoch_ = 0;
  std::uint64_t first_position_ = 0;
  std::uint64_t record_count_ = 0;
  std::shared_ptr<const EpochOrder> order_;
  HashKey key_;
  std::vector<DatasetBlock> blocks_;
  std::vector<std::uint64_t> first_records_;  // of the window, before each block
  std::vector<std::uint64_t> skipped_;        // records of the block before those of the source
  std::vector<std::shared_ptr<const LoadedBlock>> loaded_;

  // In exact order only the wanted records are kept, one behind the other in the order in which they lie in
  // the shards: their rank.
  struct Kept {
    std::vector<std::uint32_t> ranks;    // by position
    std::vector<std::uint64_t> wanted;   // by rank: the record's number in its block
    std::vector<std::uint32_t> first;    // rank, by block; then the number of records
    std::vector<std::uint64_t> offsets;  // by rank, in `data`; then the end
    PooledBuffer data;
    std::vector<std::map<std::uint32_t, Error>> holes;  // by block; each by rank
  };
  std::optional<Kept> kept_;
};

struct SourceOptions {
  std::optional<RecordRange> range{};  // none: all
  int order_version = kOrderVersion;
  ShuffleMode mode = ShuffleMode::kWindow;
  std::uint64_t seed = 0;
  std::uint64_t window_bytes = kDefaultWindowBytes;
};

/// Immutable, except for the order of the last requested epoch, which it keeps; thread-safe.
class Source {
 public:
  /// Reads the shards' indexes if the order is exact. Remarks about them go to `remarks`.
  /// \error kInvalidArgument  the range is not in the dataset
  static Result<std::unique_ptr<Source>> create(std::shared_ptr<const Dataset> dataset,
                                                const SourceOptions& options, const CallOptions& call,
                                                std::vector<std::string>& remarks);

  const Dataset& dataset() const { return *dataset_; }
  const RecordRange& range() const { return range_; }
  std::uint64_t record_count() const { return range_.count; }
  ShuffleMode mode() const { return options_.mode; }

  /// True if each epoch is certainly one window whose blocks the next epoch uses again. Cost: O(blocks).
  bool is_held_whole() const;
  /// The window of an epoch that holds a position. Cost: O(blocks) for an epoch other than the last
  /// requested.
  std::uint64_t window_at(std::uint64_t epoch, std::uint64_t position) const;
  /// In exact order, the memory for its records is taken from `pool`. Throws std::bad_alloc.
  std::unique_ptr<Window> window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const;

  /// The record at a position; computed.
  SourceRecord at(std::uint64_t epoch, std::uint64_t position) const;

  /// The same record's number in dataset order, from the range's first.
  std::uint64_t number_at(std::uint64_t epoch, std::uint64_t position) const;

  /// For one window: an upper bound of its uncompressed blocks with the offsets of their records; in exact
  /// order, the average size of its records and their places.
  std::uint64_t window_memory_bytes() const;
  /// Upper bound for all windows that lie between two positions that many records apart.
  std::uint64_t span_memory_bytes(std::uint64_t records) const;
  /// Stored size of the largest block, if it is inflated from there; else 0.
  std::uint64_t stored_block_bytes() const;
  /// Uncompressed size of the largest block.
  std::uint64_t block_bytes() const;
  double mean_record_bytes() const;

 private:
  // A block of the dataset, trimmed to the range.
  struct Slice {
    std::uint64_t block = 0;  // of the dataset
    std::uint64_t skipped = 0;
    std::uint64_t record_count = 0;
    std::uint64_t first = 0;  // its first record's number in the range
  };
  Source(std::shared_ptr<const Dataset> dataset, const SourceOptions& options);
  std::shared_ptr<const EpochOrder> order(std::uint64_t epoch) const;
  std::uint64_t exact_window_records() const;
  SourceRecord record_of(const OrderedRecord& ordered) const;
  std::unique_ptr<Window> exact_window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const;
  std::uint64_t offsets_share() const;
  bool joins(DatasetBlock& unit, const SourceRecord& next) const;
  std::uint64_t recurring_bytes() const;
  DatasetBlock unit_around(const SourceRecord& record) const;

  const std::shared_ptr<const Dataset> dataset_;
  const SourceOptions options_;
  RecordRange range_;
  std::vector<Slice> slices_;
  std::vector<OrderBlock> order_blocks_;
  std::vector<ShardIndex> indexes_;  // in exact order; by shard
  std::uint64_t piece_bytes_ = 0;    // in exact order, where ranges are kept: of a unit_around
  mutable std::mutex mutex_;
  mutable std::uint64_t last_epoch_ = 0;
  mutable std::shared_ptr<const EpochOrder> last_order_;
};

}  // namespace headrace
