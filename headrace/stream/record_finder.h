#pragma once

/// \file Finds and reads single records of a dataset by number.

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

/// Keeps the indexes of the last 16 shards that were requested. Thread-safe. Recognises a dataset by its
/// address, so datasets must outlive the finder.
class RecordFinder {
 public:
  /// The offset of a record in the uncompressed stream of its shard. Cost: reading the shard's index, once.
  /// \error kOutOfRange  the shard has no such record
  /// \error              as for `Dataset::shard_index`
  Result<std::uint64_t> offset(const Dataset& dataset, std::uint32_t shard, std::uint64_t record,
                               const CallOptions& call);
  /// Reads a record without its frame, and checks its checksums. Cost: as for `offset`, and one read of the
  /// record or of the members that hold it.
  /// \error kDataLoss  the record is damaged
  /// \error            as for `offset` and `BlockReader::read`
  Result<Bytes> read(const Dataset& dataset, std::uint32_t shard, std::uint64_t record,
                     const CallOptions& call);

 private:
  struct Known {
    const Dataset* dataset;
    std::uint32_t shard;
    std::shared_ptr<const ShardIndex> index;
  };
  Result<std::shared_ptr<const ShardIndex>> index_of(const Dataset& dataset, std::uint32_t shard,
                                                     std::uint64_t record, const CallOptions& call);

  std::mutex mutex_;
  std::vector<Known> known_;  // the last requested one is last
};

/// The range to read for one record: the record itself or, in a compressed shard, the members that hold it.
/// REQUIRES: `index` is that of the shard, and has the record.
DatasetBlock block_around(const ShardIndex& index, std::uint32_t shard, std::uint64_t record);

}  // namespace headrace
