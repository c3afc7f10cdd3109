#pragma once

/// \file A source is a dataset, or a part of it, with the order of its records and the windows in which they
/// are read. A window finds the record at each of its positions in memory.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/stream/arrangement.h"
#include "headrace/stream/block_loader.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/order.h"
#include "headrace/stream/value_reader.h"

namespace headrace {

/// A record of a source, by its place in the dataset.
struct SourceRecord {
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  // within the shard
  bool operator==(const SourceRecord&) const = default;
};

/// The records of one block of a dataset that belong to a source.
struct BlockPart {
  std::uint64_t block = 0;  // the index in the dataset's blocks
  std::uint64_t record_count = 0;
  std::uint64_t first = 0;    // the number of its first record in the source
  std::uint64_t skipped = 0;  // the records of the block before the range
  std::uint64_t begin = 0;    // the number in the range of the first record that is not skipped

  /// The number in the block of the part's record `i`. `selection` is the source's selection, or null.
  std::uint64_t in_block(std::uint64_t i, const RecordSelection* selection) const {
    return selection == nullptr ? skipped + i : skipped + selection->numbers[first + i] - begin;
  }
};

/// Positions first_position … first_position + record_count − 1 of one epoch of a source, and the blocks that
/// hold their records. Source::window makes it. Threads load its blocks, each block once. Its records may be
/// read when all blocks are loaded and, if the source has an arrangement, when they are arranged; several
/// threads may then read at the same time.
class Window {
 public:
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t first_position() const { return first_position_; }
  std::uint64_t record_count() const { return record_count_; }
  /// The ranges that are fetched as a whole; in exact order, the ranges around the wanted records.
  const std::vector<DatasetBlock>& blocks() const { return blocks_; }

  /// Loads block `i` with `loader`. If there is an arrangement, also reads the values of its records with
  /// `values`; otherwise `values` is null. Different blocks may be loaded at the same time.
  /// \error kDataLoss  in exact order, a record's size differs from the index
  /// \error            as for `BlockLoader::load` and `ValueReader::read`
  Status load(std::size_t i, BlockLoader& loader, ValueReader* values, const CallOptions& call);
  /// Does the same, but keeps only the values. That is enough for `arrange` and `record`, but not for
  /// `place`.
  Status load_values(std::size_t i, BlockLoader& loader, ValueReader& values, const CallOptions& call);
  /// True if both windows hold all records of an epoch, and the order is not exact. REQUIRES: both windows
  /// are of the same source.
  bool is_same_epoch(const Window& other) const;
  /// Takes the blocks from another window. REQUIRES: is_same_epoch(from), and the blocks of `from` are
  /// loaded.
  void share(const Window& from);
  /// Puts the records into their arrangement. Call it once. Cost: a microsecond for each record.
  /// REQUIRES: the source has an arrangement, and all blocks or their values are loaded.
  void arrange();

  /// A record in memory, which lives as long as the window; or the reason why the record is unavailable.
  struct Place {
    BytesView data;
    const Error* hole = nullptr;
  };
  /// The record at a position, in memory. REQUIRES: the position belongs to the window, and its blocks are
  /// loaded and arranged.
  Place place(std::uint64_t position) const;
  /// The record at a position, by its place in the dataset. REQUIRES: the position belongs to the window,
  /// which is arranged if the source has an arrangement.
  SourceRecord record(std::uint64_t position) const;

 private:
  friend class Source;
  Window() = default;
  Status keep(std::size_t i, const LoadedBlock& block);
  Status read_values(std::size_t i, const LoadedBlock& block, ValueReader& values);
  std::uint64_t number_at(std::uint64_t position) const;
  std::size_t block_of(std::uint64_t number) const;
  std::uint64_t end_of(std::size_t block) const;
  std::uint64_t in_block(std::size_t block, std::uint64_t number) const;

  std::uint64_t epoch_ = 0;
  std::uint64_t first_position_ = 0;
  std::uint64_t record_count_ = 0;
  std::shared_ptr<const EpochOrder> order_;
  HashKey key_;
  std::vector<DatasetBlock> blocks_;
  // Records are numbered through the blocks; in exact order, only the wanted records are.
  std::vector<std::uint64_t> first_records_;  // the number of each block's first record
  std::vector<BlockPart> parts_;              // by block; empty in exact order
  std::shared_ptr<const RecordSelection> selection_;
  std::vector<std::shared_ptr<const LoadedBlock>> loaded_;
  // By position: the number of its record. Empty: the order's key gives the number.
  std::vector<std::uint32_t> numbers_;

  // In exact order, only the wanted records are kept, one after another, in the order of the shards.
  struct Kept {
    std::vector<std::uint64_t> wanted;   // by number: the record's number in its block
    std::vector<std::uint64_t> offsets;  // by number, in `data`; then the end
    PooledBuffer data;
    std::vector<std::map<std::uint64_t, Error>> holes;  // by block, then by number
  };
  std::optional<Kept> kept_;

  struct ToArrange {
    ArrangementKind kind = ArrangementKind::kNone;
    std::uint64_t seed = 0;
    std::uint64_t batch_size = 1;
  };
  ToArrange to_arrange_;
  std::vector<std::int64_t> values_;  // by number; empty without an arrangement
};

struct SourceOptions {
  std::optional<RecordRange> range{};  // none: all records
  /// The records of the range; null: all.
  std::shared_ptr<const RecordSelection> selection{};
  int order_version = kOrderVersion;
  ShuffleMode mode = ShuffleMode::kWindow;
  std::uint64_t seed = 0;
  std::uint64_t window_bytes = kDefaultWindowBytes;
  ArrangementKind arrangement = ArrangementKind::kNone;
  std::uint64_t batch_size = 1;  // global; used for an arrangement
};

/// A dataset, or a part of it, in an order. Thread-safe. Immutable, except that it keeps the order of the
/// last requested epoch.
class Source {
 public:
  /// Makes a source. In exact order, reads the shards' indexes; remarks about them are appended to `remarks`.
  /// \error kInvalidArgument  the range or the selection is not in the dataset; or there is an arrangement,
  ///                          and a window may have 2^32 records or more
  /// \error                   in exact order, as for `Dataset::shard_index`
  static Result<std::unique_ptr<Source>> create(std::shared_ptr<const Dataset> dataset,
                                                const SourceOptions& options, const CallOptions& call,
                                                std::vector<std::string>& remarks);

  const Dataset& dataset() const { return *dataset_; }
  std::uint64_t record_count() const { return record_count_; }
  ShuffleMode mode() const { return options_.mode; }

  /// True if each epoch is certainly a single window, whose blocks the next epoch uses again. Cost:
  /// O(blocks).
  bool is_held_whole() const;
  /// The number of the window of an epoch that holds a position. Cost: O(blocks) for an epoch other than the
  /// last requested one.
  std::uint64_t window_at(std::uint64_t epoch, std::uint64_t position) const;
  /// Makes a window without loading its blocks. In exact order, takes the memory for its records from `pool`.
  /// \throws std::bad_alloc  no memory
  std::unique_ptr<Window> window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const;

  /// The record at a position before the arrangement; computed without reading. For the record after the
  /// arrangement, see Window::record.
  SourceRecord at(std::uint64_t epoch, std::uint64_t position) const;

  /// The number of the same record among the source's records in dataset order.
  std::uint64_t number_at(std::uint64_t epoch, std::uint64_t position) const;

  /// The memory for the selection, if there is one.
  std::uint64_t selection_bytes() const;
  /// The memory for one window: an upper bound of its uncompressed blocks and the offsets of their records;
  /// in exact order, the average size of its records and their places.
  std::uint64_t window_memory_bytes() const;
  /// An upper bound of the memory for all windows between two positions that are `records` records apart.
  /// Unless `reaches_over_epochs`, both positions are in the same epoch. Cost: O(blocks · log blocks).
  std::uint64_t span_memory_bytes(std::uint64_t records, bool reaches_over_epochs) const;
  /// The most memory that reading a block takes, besides its records: ShardKind::reading_bytes.
  std::uint64_t reading_bytes() const;
  /// The uncompressed size of the largest block.
  std::uint64_t block_bytes() const;
  double mean_record_bytes() const;

 private:
  Source(std::shared_ptr<const Dataset> dataset, const SourceOptions& options);
  void add_part(BlockPart part);
  std::shared_ptr<const EpochOrder> order(std::uint64_t epoch) const;
  std::uint64_t exact_window_records() const;
  SourceRecord record_of(const OrderedRecord& ordered) const;
  std::unique_ptr<Window> window_of_blocks(std::uint64_t epoch, std::uint64_t number) const;
  std::unique_ptr<Window> exact_window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const;
  std::uint64_t records_share() const;
  double kept_record_bytes() const;
  double bytes_of_scarcest(std::uint64_t records) const;
  double bytes_over_epochs(std::uint64_t records) const;
  bool joins(DatasetBlock& unit, const SourceRecord& next) const;
  std::uint64_t recurring_bytes() const;
  DatasetBlock unit_around(const SourceRecord& record) const;

  const std::shared_ptr<const Dataset> dataset_;
  const SourceOptions options_;
  std::uint64_t record_count_ = 0;
  std::vector<BlockPart> parts_;
  std::vector<OrderBlock> order_blocks_;
  std::vector<ShardIndex> indexes_;  // in exact order; by shard
  std::uint64_t piece_bytes_ = 0;    // in exact order, if the store keeps ranges: the size of a unit_around
  mutable std::mutex mutex_;
  mutable std::uint64_t last_epoch_ = 0;
  mutable std::shared_ptr<const EpochOrder> last_order_;
};

}  // namespace headrace
