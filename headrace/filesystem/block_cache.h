#pragma once

/// \file A cache of small blocks of objects that are read at random, shared by all files.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "headrace/filesystem/fetched_range.h"

namespace headrace {

inline constexpr std::size_t kCachedBlockBytes = 64 << 10;

/// Blocks are aligned to kCachedBlockBytes. The last block of an object may be shorter. The least recently
/// used blocks are evicted first. Thread-safe.
class BlockCache {
 public:
  explicit BlockCache(std::size_t most_blocks) : most_blocks_(most_blocks) {}

  /// The block that begins at `number` · kCachedBlockBytes. It may not have been fetched yet: call its
  /// `wait`. REQUIRES: the object has bytes there.
  std::shared_ptr<FetchedRange> block(const Location& location, const ObjectInfo& object,
                                      std::uint64_t number);
  /// Inserts a block that was read in another way.
  void put(const Location& location, const ObjectInfo& object, std::uint64_t number, BytesView data);
  void clear();

 private:
  using Name = std::tuple<std::string, std::string, std::uint64_t>;  // object, version, number
  struct Entry {
    Name name;
    std::shared_ptr<FetchedRange> range;
  };

  void insert(Name name, std::shared_ptr<FetchedRange> range);

  const std::size_t most_blocks_;
  const std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::map<Name, std::list<Entry>::iterator> found_;
};

}  // namespace headrace
