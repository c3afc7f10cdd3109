#pragma once

/// \file A sample that keeps the values with the smallest hashes, so it does not depend on their order.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace headrace {

/// Spreads consecutive numbers over 64 bits. Source: the finalizer of SplitMix64 (Steele, Lea and Flood,
/// 2014).
inline std::uint64_t spread(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

/// Keeps the `limit` added values with the smallest hashes. The caller computes each hash, for instance from
/// the place where the value was found. Equal hashes are ordered by value. The same values, added or merged
/// in any order, give the same sample. Memory: at most `limit` entries. Not thread-safe.
template <typename Value>
class BottomSample {
 public:
  using Entry = std::pair<std::uint64_t, Value>;  // the hash first

  explicit BottomSample(std::size_t limit) : limit_(limit) {}

  void add(std::uint64_t hash, const Value& value) {
    if (limit_ == 0) return;
    if (entries_.size() == limit_ && !(Entry(hash, value) < entries_.front())) return;
    entries_.emplace_back(hash, value);
    std::push_heap(entries_.begin(), entries_.end());
    if (entries_.size() <= limit_) return;
    std::pop_heap(entries_.begin(), entries_.end());
    entries_.pop_back();
  }
  void merge(const BottomSample& other) {
    for (const auto& [hash, value] : other.entries_) add(hash, value);
  }
  /// The sample in ascending order of hashes. The first n entries are the sample for a limit of n.
  std::vector<Entry> sorted() const {
    std::vector<Entry> out = entries_;
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::size_t limit_;
  std::vector<Entry> entries_;  // a heap, the greatest hash first
};

}  // namespace headrace
