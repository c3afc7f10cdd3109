#pragma once

/// \file The records of one block in memory, whatever kind of shard they come from.

#include <cstdint>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/os/buffer_pool.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

/// Records first … end − 1 of a block that are unavailable, and why.
struct BlockHole {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  Error error;
};

/// How the records of a block lie in a buffer: one after another, each in kRecordFramingBytes more than its
/// data, as if it were framed. Nobody reads the bytes around the data.
struct BlockContents {
  PooledBuffer bytes{};
  std::vector<std::uint64_t> offsets{};            // where each record begins, with its frame; then the end
  std::uint64_t data_offset = kRecordHeaderBytes;  // of the data, from where its record begins
  std::vector<BlockHole> holes{};                  // ascending; their records have offsets, too
};

/// Immutable once loaded, hence thread-safe. Memory: the buffer, and eight bytes per record.
class LoadedBlock {
 public:
  explicit LoadedBlock(BlockContents contents) : contents_(std::move(contents)) {}
  /// A block of which nothing can be had.
  static LoadedBlock lost(std::uint64_t record_count, Error why);

  std::uint64_t record_count() const {
    return contents_.offsets.empty() ? lost_records_ : contents_.offsets.size() - 1;
  }
  std::uint64_t size_bytes() const { return contents_.bytes.size(); }
  const std::vector<BlockHole>& holes() const { return contents_.holes; }
  /// Makes every record from the first hole on a part of that hole. REQUIRES: there is a hole
  void lose_rest();

  /// The record's bytes, which live as long as the block; or the error that made it a hole.
  /// REQUIRES: record < record_count()
  Result<BytesView> record(std::uint64_t record) const;
  const Error* hole(std::uint64_t record) const;
  /// REQUIRES: hole(record) is null
  BytesView data(std::uint64_t record) const;

 private:
  BlockContents contents_;
  std::uint64_t lost_records_ = 0;
};

}  // namespace headrace
