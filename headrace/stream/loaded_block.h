#pragma once

/// \file Blocks in memory: fetched, inflated, both checksums of every record checked; for a tar, its samples
/// converted to records.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/codec/deflate.h"
#include "headrace/os/buffer_pool.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/tar_sample.h"

namespace headrace {

/// The records of one block. Immutable once loaded, hence thread-safe. Memory: the uncompressed block, or
/// that part of a tar, and eight bytes per record.
class LoadedBlock {
 public:
  std::uint64_t record_count() const { return offsets_.empty() ? hole_records_ : offsets_.size() - 1; }

  /// The record's bytes, which live as long as the block; or the error that made it a hole.
  /// REQUIRES: record < record_count()
  Result<BytesView> record(std::uint64_t record) const;
  const Error* hole(std::uint64_t record) const;
  /// REQUIRES: hole(record) is null
  BytesView data(std::uint64_t record) const;

 private:
  friend class BlockLoader;
  // Records first … end − 1 are unavailable.
  struct Hole {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    Error error;
  };
  PooledBuffer stream_;
  std::vector<std::uint64_t> offsets_;              // of each record in stream_, with its frame, and the end
  std::uint64_t data_offset_ = kRecordHeaderBytes;  // of a record's data in it
  std::vector<Hole> holes_;                         // ascending
  std::uint64_t hole_records_ = 0;                  // of a block that could not be loaded at all
};

/// Seconds are wall time.
struct BlockLoadStats {
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  double fetch_seconds = 0;
  double inflate_seconds = 0;
  double check_seconds = 0;  // of records' checksums, or making records of samples
};

/// One thread at a time; each thread has its own.
class BlockLoader {
 public:
  /// Borrows the dataset. Buffers come from `pool`, including one for the stored bytes while a compressed
  /// block is loaded. `columns`: only these fields of a tar's samples become features; none: all do.
  BlockLoader(const Dataset& dataset, CorruptionPolicy policy, std::shared_ptr<BufferPool> pool,
              std::vector<Column> columns = {})
      : dataset_(dataset), policy_(policy), pool_(std::move(pool)), converter_(std::move(columns)) {}

  /// \error kDataLoss            damage, under CorruptionPolicy::kFail; names object, record and offset
  /// \error kFailedPrecondition  the shard was replaced since the dataset was opened
  /// \error                      what the store returns
  Result<LoadedBlock> load(const DatasetBlock& block, const CallOptions& call);

  const BlockLoadStats& stats() const { return stats_; }
  /// Remarks since the last call; for people.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  // A part of the uncompressed stream that is unavailable.
  struct Damage {
    std::uint64_t begin_bytes = 0;
    std::uint64_t end_bytes = 0;
    Error error;
  };
  Result<PooledBuffer> fetch(const DatasetBlock& block, const CallOptions& call);
  Status inflate(const DatasetShard& shard, BytesView compressed, MutableBytesView target);
  Status check(const DatasetBlock& block, LoadedBlock& loaded) const;
  TarPart part(const DatasetBlock& block, std::uint64_t begin, std::uint64_t size_bytes,
               const LoadedBlock& loaded) const;
  Status convert(const DatasetBlock& block, LoadedBlock& loaded);
  bool fits(const ShardIndex& index, const DatasetBlock& block) const;
  Status salvage(const DatasetBlock& block, const CallOptions& call, BytesView stored, LoadedBlock& loaded);
  void salvage_records(const DatasetBlock& block, const ShardIndex& index, BytesView stored,
                       LoadedBlock& loaded);
  void salvage_samples(const DatasetBlock& block, const ShardIndex& index, LoadedBlock& loaded);
  std::vector<Damage> inflate_members(const DatasetBlock& block, const ShardIndex& index, BytesView stored,
                                      MutableBytesView target);
  Result<BytesView> check_record(BytesView framed, std::uint64_t record, std::uint64_t offset_bytes,
                                 std::uint32_t shard, const std::vector<Damage>& damage) const;

  const Dataset& dataset_;
  const CorruptionPolicy policy_;
  const std::shared_ptr<BufferPool> pool_;
  BufferInflater inflater_;
  TarSampleConverter converter_;
  BlockLoadStats stats_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
