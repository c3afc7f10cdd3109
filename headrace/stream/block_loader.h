#pragma once

/// \file Loads blocks of a dataset, each with a reader of its shard's kind, and applies the corruption
/// policy.

#include <memory>
#include <string>
#include <vector>

#include "headrace/stream/block_reader.h"

namespace headrace {

/// Loads blocks. Not thread-safe; each thread has its own.
class BlockLoader {
 public:
  /// Borrows the dataset. Takes buffers from `pool`. `columns` are the features that are needed; empty: all.
  BlockLoader(const Dataset& dataset, CorruptionPolicy policy, std::shared_ptr<BufferPool> pool,
              std::vector<Column> columns = {});

  /// Loads a block. Under a policy other than kFail, damaged records are holes; under kSkipShard, so are all
  /// records after the first hole. The records of a lost shard are holes under any policy.
  /// \error kDataLoss            damage, under kFail; the message names object, record and offset
  /// \error kFailedPrecondition  the shard was replaced since the dataset was opened
  /// \error kInternal            the reader broke its contract: wrong number of records or bytes
  /// \error                      as for `BlockReader::read`
  Result<LoadedBlock> load(const DatasetBlock& block, const CallOptions& call);

  BlockLoadStats stats() const;
  /// Returns the remarks since the last call; for people.
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
