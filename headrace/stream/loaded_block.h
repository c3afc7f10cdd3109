#pragma once

/// \file Blocks in memory: fetched, inflated, both checksums of every record checked.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/codec/deflate.h"
#include "headrace/io/buffer_pool.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// The records of one block. Immutable once loaded, hence thread-safe. Memory: the uncompressed block, and
/// eight bytes a record.
class LoadedBlock {
 public:
  std::uint64_t record_count() const { return offsets_.empty() ? hole_records_ : offsets_.size() - 1; }

  /// The record's bytes, which live as long as the block; or, of a hole, why there are none.
  /// REQUIRES: record < record_count()
  Result<BytesView> record(std::uint64_t record) const;
  const Error* hole(std::uint64_t record) const;
  /// REQUIRES: hole(record) is null
  BytesView data(std::uint64_t record) const;

 private:
  friend class BlockLoader;
  // Records first … end − 1 cannot be had.
  struct Hole {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    Error error;
  };
  PooledBuffer stream_;
  std::vector<std::uint64_t> offsets_;  // of each framed record in stream_, and the end
  std::vector<Hole> holes_;             // ascending
  std::uint64_t hole_records_ = 0;      // of a block that could not be loaded at all
};

/// Seconds are wall time.
struct BlockLoadStats {
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double check_seconds = 0;
};

/// One thread at a time; each thread has its own.
class BlockLoader {
 public:
  /// Borrows the data set. Buffers come from `pool`: while a compressed block is loaded, one for it as
  /// stored.
  BlockLoader(const Dataset& dataset, CorruptionPolicy policy, std::shared_ptr<BufferPool> pool)
      : dataset_(dataset), policy_(policy), pool_(std::move(pool)) {}

  /// \error kDataLoss            damage, under CorruptionPolicy::kFail; names object, record and offset
  /// \error kFailedPrecondition  the shard was replaced since the data set was opened
  /// \error                      what the store returns
  Result<LoadedBlock> load(const DatasetBlock& block, const CallOptions& call);

  const BlockLoadStats& stats() const { return stats_; }
  /// What was remarked since the last call; for people.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  // A part of the uncompressed stream that could not be had.
  struct Damage {
    std::uint64_t begin_bytes = 0;
    std::uint64_t end_bytes = 0;
    Error error;
  };
  Result<PooledBuffer> fetch(const DatasetBlock& block, const CallOptions& call);
  Status inflate(const DatasetShard& shard, BytesView compressed, MutableBytesView target);
  Status check(const DatasetBlock& block, LoadedBlock& loaded) const;
  Status salvage(const DatasetBlock& block, const CallOptions& call, BytesView stored, LoadedBlock& loaded);
  std::vector<Damage> inflate_members(const DatasetBlock& block, const ShardIndex& index, BytesView stored,
                                      MutableBytesView target);
  Result<BytesView> check_record(BytesView framed, std::uint64_t record, std::uint64_t offset_bytes,
                                 std::uint32_t shard, const std::vector<Damage>& damage) const;

  const Dataset& dataset_;
  const CorruptionPolicy policy_;
  const std::shared_ptr<BufferPool> pool_;
  BufferInflater inflater_;
  BlockLoadStats stats_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
