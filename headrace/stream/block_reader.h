#pragma once

/// \file The interface that turns blocks into records: a shard has a kind, and a kind makes readers.
/// docs/decisions/block-readers.md.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headrace/os/buffer_pool.h"
#include "headrace/record/example_decoder.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/loaded_block.h"

namespace headrace {

/// The cost of loading blocks. Seconds are wall time.
struct BlockLoadStats {
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double check_seconds = 0;  // checking records' checksums, or making records from samples or rows

  void add(const BlockLoadStats& other);
};

/// Measures its own lifetime, and adds it to a sum of seconds.
class Stopwatch {
 public:
  /// Borrows `seconds`.
  explicit Stopwatch(double& seconds);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point start_;
};

/// Reads blocks of shards of one kind. Not thread-safe; each thread has its own.
class BlockReader {
 public:
  virtual ~BlockReader() = default;

  /// Reads all `block.record_count` records: each is a tf.Example at its own index, and the same each time. A
  /// damaged or missing record is a hole and does not move other records; the caller decides whether holes
  /// are errors. The buffer has at most `block.stream_bytes` bytes. In exact order, a block may be any run of
  /// records in the shard's index. Blocks while it reads from the store.
  /// \error kFailedPrecondition  the shard was replaced since the dataset was opened
  /// \error                      the shard cannot be read now; never because of damage
  virtual Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions& call) = 0;

  const BlockLoadStats& stats() const { return stats_; }
  /// Returns the remarks since the last call; for people.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 protected:
  BlockLoadStats stats_;
  std::vector<std::string> remarks_;
};

struct BlockReaderOptions {
  /// The source of buffers.
  std::shared_ptr<BufferPool> pool;
  /// The features that are needed; empty: all. A reader that makes records itself may leave out the others.
  std::vector<Column> columns{};
};

/// A kind of shard. Immutable, hence thread-safe.
class ShardKind {
 public:
  virtual ~ShardKind() = default;
  /// Makes a reader for this kind's shards. The reader borrows the dataset.
  virtual std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                                   const BlockReaderOptions& options) const = 0;
  /// An upper bound of the memory, besides `block.stream_bytes`, that a reader needs while it reads the
  /// block.
  virtual std::uint64_t reading_bytes(const DatasetShard&, const DatasetBlock&) const { return 0; }
};

}  // namespace headrace
