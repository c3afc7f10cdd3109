#pragma once

/// \file An object opened for reading: docs/tensorflow-file-systems.md, "Reading".

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>

#include "headrace/filesystem/block_cache.h"
#include "headrace/filesystem/fetched_range.h"
#include "headrace/os/background.h"

namespace headrace {

/// Resources that all files of a file system share. `read_ahead` limits the data that are read ahead, for all
/// files together.
struct ReadResources {
  explicit ReadResources(std::uint64_t read_ahead_bytes = std::uint64_t{256} << 20, int threads = 16,
                         std::size_t most_blocks = 1'024)
      : blocks(most_blocks), read_ahead(read_ahead_bytes), background(threads) {}

  const std::shared_ptr<BufferPool> pool = BufferPool::create();
  BlockCache blocks;
  MemoryBudget read_ahead;
  Background background;  // last: its threads use the others
};

/// One version of one object. Thread-safe. `resources` must outlive it.
class ReadableFile {
 public:
  /// Opens a file, and fetches its first block. Cost: one request.
  /// \error kNotFound  there is no such object
  static Result<std::unique_ptr<ReadableFile>> open(Location location, ReadResources& resources);
  /// A file whose data are in memory and not in a store.
  static std::unique_ptr<ReadableFile> of_memory(Location location, Bytes data, ReadResources& resources);
  ~ReadableFile();

  std::uint64_t size_bytes() const { return object_.size_bytes; }

  /// Reads from the offset until `target` is full or the file ends, and returns the number of bytes: 0 at or
  /// past the end.
  /// \error kFailedPrecondition  the object was replaced
  Result<std::size_t> read(std::uint64_t offset_bytes, MutableBytesView target);

  /// Reads at least one byte, unless the offset is at or past the end, and as many as are quickly available.
  /// For callers that will continue where this read ends: the bytes for the rest of `target` are then fetched
  /// in the background.
  /// \error kFailedPrecondition  the object was replaced
  Result<std::size_t> read_some(std::uint64_t offset_bytes, MutableBytesView target);

  const std::string& key() const { return location_.key; }

 private:
  // Reads that follow one another, and the ranges that are read ahead for them.
  struct Sequence {
    std::uint64_t begin = 0;                             // offset of its first read
    std::uint64_t next = 0;                              // offset at which the next read would begin
    std::uint64_t announced_end = 0;                     // the reads are known to continue up to here
    std::deque<std::shared_ptr<FetchedRange>> ranges{};  // ascending, without gaps
    std::size_t range_bytes = 0;                         // wanted for the last range; 0: none was read ahead
    std::uint64_t last_used = 0;
    bool is_busy = false;
  };
  class Claim;

  ReadableFile(Location location, ObjectInfo object, ReadResources& resources);

  MutableBytesView within_file(std::uint64_t offset, MutableBytesView target) const;
  Sequence* oldest_idle();
  void remember(std::uint64_t begin, std::uint64_t end);
  Status read_here(std::uint64_t offset, MutableBytesView target);
  Status read_sequence(Sequence& sequence, MutableBytesView target);
  static void pass(Sequence& sequence);
  Result<std::size_t> take(Sequence& sequence, MutableBytesView target);
  void fetch_ahead(Sequence& sequence);
  Status read_blocks(std::uint64_t offset, MutableBytesView target);

  const Location location_;
  const ObjectInfo object_;
  ReadResources& resources_;
  Bytes memory_;  // of_memory
  bool is_in_memory_ = false;
  std::stop_source stop_;
  std::mutex mutex_;
  std::array<Sequence, 4> sequences_;
  std::uint64_t uses_ = 0;
};

}  // namespace headrace
