#pragma once

/// \file The base of readers for shards that are objects in a store. It fetches a block's bytes and, after
/// damage, finds the index that says where each record should be.

#include "headrace/stream/block_reader.h"

namespace headrace {

class StoredBlockReader : public BlockReader {
 public:
  Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions& call) final;

 protected:
  /// Borrows the dataset. Takes buffers from `pool`.
  StoredBlockReader(const Dataset& dataset, std::shared_ptr<BufferPool> pool)
      : dataset_(dataset), pool_(std::move(pool)) {}

  /// Finds the records in the stored bytes. Succeeds only if every record is sound and their number is right.
  /// May take the buffer from `stored`.
  virtual Status find_records(const DatasetBlock& block, PooledBuffer& stored, BlockContents& contents) = 0;
  /// Called after `find_records` has failed. Puts each sound record where the index says, and makes holes of
  /// the others. `contents` and `stored` are as `find_records` left them, except that `contents` has no
  /// offsets.
  /// \error  as for `BlockReader::read`
  virtual Status salvage(const DatasetBlock& block, const ShardIndex& index, const CallOptions& call,
                         PooledBuffer& stored, BlockContents& contents) = 0;

  /// Fetches the stored bytes of the block: whole members, the records of a plain shard, or samples.
  /// \error  an error of the store
  Result<PooledBuffer> fetch(const DatasetBlock& block, const CallOptions& call);
  const DatasetShard& shard_of(const DatasetBlock& block) const { return dataset_.shards()[block.shard]; }

  const Dataset& dataset_;
  const std::shared_ptr<BufferPool> pool_;

 private:
  Result<ShardIndex> find_index(const DatasetBlock& block, const CallOptions& call);
  bool fits(const ShardIndex& index, const DatasetBlock& block) const;
};

}  // namespace headrace
