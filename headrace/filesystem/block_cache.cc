#include "headrace/filesystem/block_cache.h"

#include <algorithm>

namespace headrace {

std::shared_ptr<FetchedRange> BlockCache::block(const Location& location, const ObjectInfo& object,
                                                std::uint64_t number) {
  Name name{location.describe(), object.version.token, number};
  const std::scoped_lock lock(mutex_);
  if (const auto found = found_.find(name); found != found_.end()) {
    if (!found->second->range->has_failed()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->range;
    }
    entries_.erase(found->second);
    found_.erase(found);
  }
  const std::uint64_t begin = number * kCachedBlockBytes;
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(kCachedBlockBytes, object.size_bytes - begin));
  auto range =
      std::make_shared<FetchedRange>(location, object.version, begin, size, *pool_, MemoryBudget::Share());
  insert(std::move(name), range);
  return range;
}

void BlockCache::put(const Location& location, const ObjectInfo& object, std::uint64_t number,
                     BytesView data) {
  Name name{location.describe(), object.version.token, number};
  auto range = std::make_shared<FetchedRange>(number * kCachedBlockBytes, data, *pool_);
  const std::scoped_lock lock(mutex_);
  if (!found_.contains(name)) insert(std::move(name), std::move(range));
}

// REQUIRES: mutex_ is held, and the block is not in the cache
void BlockCache::insert(Name name, std::shared_ptr<FetchedRange> range) {
  while (entries_.size() >= most_blocks_) {
    found_.erase(entries_.back().name);
    entries_.pop_back();
  }
  entries_.push_front({name, std::move(range)});
  found_.emplace(std::move(name), entries_.begin());
}

void BlockCache::clear() {
  const std::scoped_lock lock(mutex_);
  found_.clear();
  entries_.clear();
}

}  // namespace headrace
