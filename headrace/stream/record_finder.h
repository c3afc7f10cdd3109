#pragma once

/// \file Single records of a dataset, by number.

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

/// Keeps the indexes of the last few shards it was asked about. Thread-safe.
class RecordFinder {
 public:
  /// Where the record begins in its shard, uncompressed. Cost: reading the shard's index, once.
  /// \error kOutOfRange  the shard has no such record
  Result<std::uint64_t> offset(const Dataset& dataset, std::uint32_t shard, std::uint64_t record,
                               const CallOptions& call);
  /// The record without its frame, after checking its checksums. Cost: in addition one read, of the record or
  /// of the member that holds it.
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
  std::vector<Known> known_;  // the last asked about comes last
};

/// The range to read for one record: the record itself, or the members that hold it.
/// REQUIRES: the index is the shard's, and has the record
DatasetBlock block_around(const ShardIndex& index, std::uint32_t shard, std::uint64_t record);

}  // namespace headrace
