#pragma once

/// \file For readers of shards that are objects of a store: fetches a block's bytes, and after damage finds
/// the index that says where each record should be.

#include "headrace/stream/block_reader.h"

namespace headrace {

class StoredBlockReader : public BlockReader {
 public:
  Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions& call) final;

 protected:
  /// Borrows the dataset.
  StoredBlockReader(const Dataset& dataset, std::shared_ptr<BufferPool> pool)
      : dataset_(dataset), pool_(std::move(pool)) {}

  /// Finds the records in the stored bytes, which it may take, if every one is sound and their number is
  /// right.
  virtual Status find_records(const DatasetBlock& block, PooledBuffer& stored, BlockContents& contents) = 0;
  /// After find_records has failed: puts each sound record where the index says, and holes for the others.
  /// `contents` has no offsets, and otherwise what find_records left; so has `stored`.
  /// \error as BlockReader::read
  virtual Status salvage(const DatasetBlock& block, const ShardIndex& index, const CallOptions& call,
                         PooledBuffer& stored, BlockContents& contents) = 0;

  /// Fetches the bytes that hold the block: whole members, the records of a plain shard, or samples.
  Result<PooledBuffer> fetch(const DatasetBlock& block, const CallOptions& call);
  const DatasetShard& shard_of(const DatasetBlock& block) const { return dataset_.shards()[block.shard]; }

  const Dataset& dataset_;
  const std::shared_ptr<BufferPool> pool_;

 private:
  Result<ShardIndex> find_index(const DatasetBlock& block, const CallOptions& call);
  bool fits(const ShardIndex& index, const DatasetBlock& block) const;
};

}  // namespace headrace
