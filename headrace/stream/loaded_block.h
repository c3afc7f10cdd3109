#pragma once

/// \file The records of one block in memory, from any kind of shard.

#include <cstdint>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/os/buffer_pool.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

/// Records first … end − 1 of a block are unavailable; `error` says why.
struct BlockHole {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  Error error;
};

/// The records of a block in a buffer, one after another. Each takes kRecordFramingBytes more than its data,
/// as if it were framed. The bytes around the data are never read.
struct BlockContents {
  PooledBuffer bytes{};
  std::vector<std::uint64_t> offsets{};            // where each record begins, with its frame; then the end
  std::uint64_t data_offset = kRecordHeaderBytes;  // from the beginning of a record to its data
  std::vector<BlockHole> holes{};                  // ascending; their records have offsets, too
};

/// A loaded block. Immutable once loaded, hence thread-safe. Memory: the buffer, and eight bytes per record.
class LoadedBlock {
 public:
  explicit LoadedBlock(BlockContents contents) : contents_(std::move(contents)) {}
  /// A block in which all records are unavailable.
  static LoadedBlock lost(std::uint64_t record_count, Error why);

  std::uint64_t record_count() const {
    return contents_.offsets.empty() ? lost_records_ : contents_.offsets.size() - 1;
  }
  std::uint64_t size_bytes() const { return contents_.bytes.size(); }
  const std::vector<BlockHole>& holes() const { return contents_.holes; }
  /// Extends the first hole to the end of the block. REQUIRES: there is a hole.
  void lose_rest();

  /// The record's data, which live as long as the block; or the error that made it a hole.
  /// REQUIRES: record < record_count()
  Result<BytesView> record(std::uint64_t record) const;
  /// The error that made the record a hole; null if it is available. REQUIRES: record < record_count()
  const Error* hole(std::uint64_t record) const;
  /// The record's data, which live as long as the block. REQUIRES: hole(record) is null
  BytesView data(std::uint64_t record) const;

 private:
  BlockContents contents_;
  std::uint64_t lost_records_ = 0;
};

}  // namespace headrace
