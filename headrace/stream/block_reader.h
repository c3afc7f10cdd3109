#pragma once

/// \file Reads one block of a data set: fetch, inflate, check, hand out the records.

#include <cstdint>
#include <functional>
#include <vector>

#include "headrace/codec/deflate.h"
#include "headrace/stream/dataset.h"

namespace headrace {

struct BlockReadStats {
  std::uint64_t fetched_bytes = 0;
  std::uint64_t inflated_bytes = 0;
  double fetch_seconds = 0;
  double inflate_seconds = 0;
};

/// Keeps its buffers from block to block: memory is that of the largest block, compressed and not. One thread
/// at a time; each thread has its own.
class BlockReader {
 public:
  explicit BlockReader(const Dataset& dataset) : dataset_(dataset) {}

  /// Called for each record of the block, in order: its number within the block, its bytes, which live until
  /// the call returns, or why there are none. An error that it returns ends the reading.
  using Visit = std::function<Status(std::uint64_t record, const Result<BytesView>& data)>;

  /// \error as `visit` says; what is wrong with single records goes to `visit`, what is wrong with the store
  ///        comes back
  Status read(const DatasetBlock& block, const CallOptions& call, const Visit& visit);

  const BlockReadStats& stats() const { return stats_; }

 private:
  // A part of the uncompressed stream that could not be had.
  struct Damage {
    std::uint64_t begin_bytes = 0;
    std::uint64_t end_bytes = 0;
    Error error;
  };
  Status fetch(const DatasetBlock& block, const CallOptions& call);
  Status inflate_member(BytesView compressed, const DatasetShard& shard, MutableBytesView target);
  void inflate(const DatasetBlock& block, std::vector<Damage>& damage);
  Result<BytesView> check_record(BytesView framed, std::uint64_t record, std::uint64_t offset_bytes,
                                 std::uint32_t shard, const std::vector<Damage>& damage) const;

  const Dataset& dataset_;
  BlockReadStats stats_;
  BufferInflater inflater_;
  Bytes fetched_;
  Bytes inflated_;
};

}  // namespace headrace
