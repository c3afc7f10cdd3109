#pragma once

/// \file Loads blocks of a dataset, each by a reader of its shard's kind, and applies the corruption policy.

#include <memory>
#include <string>
#include <vector>

#include "headrace/stream/block_reader.h"

namespace headrace {

/// One thread at a time; each thread has its own.
class BlockLoader {
 public:
  /// Borrows the dataset. Buffers come from `pool`. `columns`: only these features are wanted; none: all.
  BlockLoader(const Dataset& dataset, CorruptionPolicy policy, std::shared_ptr<BufferPool> pool,
              std::vector<Column> columns = {});

  /// \error kDataLoss            damage, under CorruptionPolicy::kFail; names object, record and offset
  /// \error kFailedPrecondition  the shard was replaced since the dataset was opened
  /// \error kInternal            the reader broke its contract: not the records or bytes of the block
  /// \error                      as BlockReader::read
  Result<LoadedBlock> load(const DatasetBlock& block, const CallOptions& call);

  BlockLoadStats stats() const;
  /// Remarks since the last call; for people.
  std::vector<std::string> take_remarks();

 private:
  struct KindReader {
    const ShardKind* kind;
    std::unique_ptr<BlockReader> reader;
  };
  BlockReader& reader_of(const DatasetShard& shard);

  const Dataset& dataset_;
  const CorruptionPolicy policy_;
  BlockReaderOptions options_;
  std::vector<KindReader> readers_;  // made when the first block of their kind is loaded
};

}  // namespace headrace
