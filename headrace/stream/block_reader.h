#pragma once

/// \file The seam through which blocks become records: a shard has a kind, and a kind makes readers.
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

/// Seconds are wall time.
struct BlockLoadStats {
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double check_seconds = 0;  // of records' checksums, or making records of samples or rows

  void add(const BlockLoadStats& other);
};

/// Adds the time until it goes to a sum of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point start_;
};

/// Reads blocks of shards of one kind. One thread at a time; each thread has its own.
class BlockReader {
 public:
  virtual ~BlockReader() = default;

  /// All `block.record_count` records, each a tf.Example in its place, the same each time. A record that is
  /// damaged or gone is a hole, and moves no other: the caller decides whether holes are errors. The buffer
  /// has at most `block.stream_bytes`. In exact order a block is any run of records that the shard's index
  /// has.
  /// \error kFailedPrecondition  the shard was replaced since the dataset was opened
  /// \error                      the shard cannot be read at the moment; never for damage
  virtual Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions& call) = 0;

  const BlockLoadStats& stats() const { return stats_; }
  /// Remarks since the last call; for people.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 protected:
  BlockLoadStats stats_;
  std::vector<std::string> remarks_;
};

struct BlockReaderOptions {
  /// Where buffers come from.
  std::shared_ptr<BufferPool> pool;
  /// The features that somebody wants; none: all. A reader that makes the records may leave out the others.
  std::vector<Column> columns{};
};

/// A kind of shards. Immutable, hence thread-safe.
class ShardKind {
 public:
  virtual ~ShardKind() = default;
  /// A reader of this kind's shards. It borrows the dataset.
  virtual std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                                   const BlockReaderOptions& options) const = 0;
  /// Upper bound of the memory that a reader needs while it reads the block, besides `block.stream_bytes`.
  virtual std::uint64_t reading_bytes(const DatasetShard&, const DatasetBlock&) const { return 0; }
};

}  // namespace headrace
