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

#include "headrace/stream/arrangement.h"
#include "headrace/stream/block_loader.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/order.h"
#include "headrace/stream/value_reader.h"

namespace headrace {

/// A record of a source, found.
struct SourceRecord {
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  // within the shard
  bool operator==(const SourceRecord&) const = default;
};

/// The records of one block of a dataset that belong to a source.
struct BlockPart {
  std::uint64_t block = 0;  // of the dataset
  std::uint64_t record_count = 0;
  std::uint64_t first = 0;    // the number of its first record in the source
  std::uint64_t skipped = 0;  // records of the block before the range
  std::uint64_t begin = 0;    // the number in the range of the first that is not skipped

  /// The number in the block of the part's record number `i`. `selection`: of the source, or null.
  std::uint64_t in_block(std::uint64_t i, const RecordSelection* selection) const {
    return selection == nullptr ? skipped + i : skipped + selection->numbers[first + i] - begin;
  }
};

/// Positions first_position … + record_count − 1 of one epoch of a source, and the blocks that hold them.
/// Made by Source::window. Threads load its blocks, each once; its records are read when all blocks are
/// loaded and, if the source has an arrangement, when they are arranged.
class Window {
 public:
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t first_position() const { return first_position_; }
  std::uint64_t record_count() const { return record_count_; }
  /// The ranges that are fetched as a whole; in exact order, the ranges around the wanted records.
  const std::vector<DatasetBlock>& blocks() const { return blocks_; }

  /// Loads block `i` with `loader`, and the values of its records with `values` if there is an arrangement
  /// (else null). Different blocks may be loaded at the same time.
  Status load(std::size_t i, BlockLoader& loader, ValueReader* values, const CallOptions& call);
  /// The same, but keeps only the values: enough for `arrange` and `record`, not for `place`.
  Status load_values(std::size_t i, BlockLoader& loader, ValueReader& values, const CallOptions& call);
  /// True if both hold all records of an epoch of the same source, and not in exact order.
  bool is_same_epoch(const Window& other) const;
  /// Takes the blocks from another window. REQUIRES: is_same_epoch, and its blocks are loaded
  void share(const Window& from);
  /// Puts the records in their arrangement, once. Cost: a microsecond for each record.
  /// REQUIRES: the source has an arrangement, and all blocks or their values are loaded
  void arrange();

  /// A record in memory, which lives as long as the window; or the reason why there is none.
  struct Place {
    BytesView data;
    const Error* hole = nullptr;
  };
  /// REQUIRES: the position belongs to the window, and its blocks are loaded and arranged
  Place place(std::uint64_t position) const;
  /// The record at a position. REQUIRES: the position belongs to the window, which is arranged if the source
  /// has an arrangement
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
  // Records are numbered through the blocks; in exact order only the wanted ones.
  std::vector<std::uint64_t> first_records_;  // before each block
  std::vector<BlockPart> parts_;              // of the blocks; not in exact order
  std::shared_ptr<const RecordSelection> selection_;
  std::vector<std::shared_ptr<const LoadedBlock>> loaded_;
  // By position: the number of its record. Empty: the order's key gives it.
  std::vector<std::uint32_t> numbers_;

  // In exact order only the wanted records are kept, one behind the other in the order in which they lie in
  // the shards.
  struct Kept {
    std::vector<std::uint64_t> wanted;   // by number: the record's number in its block
    std::vector<std::uint64_t> offsets;  // by number, in `data`; then the end
    PooledBuffer data;
    std::vector<std::map<std::uint64_t, Error>> holes;  // by block; each by number
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
  std::optional<RecordRange> range{};  // none: all
  /// Only these of the range; null: all.
  std::shared_ptr<const RecordSelection> selection{};
  int order_version = kOrderVersion;
  ShuffleMode mode = ShuffleMode::kWindow;
  std::uint64_t seed = 0;
  std::uint64_t window_bytes = kDefaultWindowBytes;
  ArrangementKind arrangement = ArrangementKind::kNone;
  std::uint64_t batch_size = 1;  // global; for an arrangement
};

/// Immutable, except for the order of the last requested epoch, which it keeps; thread-safe.
class Source {
 public:
  /// Reads the shards' indexes if the order is exact. Remarks about them go to `remarks`.
  /// \error kInvalidArgument  range or selection is not in the dataset; or there is an arrangement, and a
  ///                          window may have 2^32 records or more
  static Result<std::unique_ptr<Source>> create(std::shared_ptr<const Dataset> dataset,
                                                const SourceOptions& options, const CallOptions& call,
                                                std::vector<std::string>& remarks);

  const Dataset& dataset() const { return *dataset_; }
  std::uint64_t record_count() const { return record_count_; }
  ShuffleMode mode() const { return options_.mode; }

  /// True if each epoch is certainly one window whose blocks the next epoch uses again. Cost: O(blocks).
  bool is_held_whole() const;
  /// The window of an epoch that holds a position. Cost: O(blocks) for an epoch other than the last
  /// requested.
  std::uint64_t window_at(std::uint64_t epoch, std::uint64_t position) const;
  /// In exact order, the memory for its records is taken from `pool`. Throws std::bad_alloc.
  std::unique_ptr<Window> window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const;

  /// The record at a position without an arrangement; computed. With one, see Window::record.
  SourceRecord at(std::uint64_t epoch, std::uint64_t position) const;

  /// The same record's number among the source's in dataset order.
  std::uint64_t number_at(std::uint64_t epoch, std::uint64_t position) const;

  /// Memory for the selection, if there is one.
  std::uint64_t selection_bytes() const;
  /// For one window: an upper bound of its uncompressed blocks with the offsets of their records; in exact
  /// order, the average size of its records and their places.
  std::uint64_t window_memory_bytes() const;
  /// Upper bound for all windows that lie between two positions that many records apart. Without
  /// `reaches_over_epochs`, both are in one epoch. Cost: O(blocks · log blocks).
  std::uint64_t span_memory_bytes(std::uint64_t records, bool reaches_over_epochs) const;
  /// The most that reading a block takes besides its records: ShardKind::reading_bytes.
  std::uint64_t reading_bytes() const;
  /// Uncompressed size of the largest block.
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
  std::uint64_t piece_bytes_ = 0;    // in exact order, where ranges are kept: of a unit_around
  mutable std::mutex mutex_;
  mutable std::uint64_t last_epoch_ = 0;
  mutable std::shared_ptr<const EpochOrder> last_order_;
};

}  // namespace headrace
