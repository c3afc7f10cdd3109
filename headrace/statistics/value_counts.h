#pragma once

/// \file How often each of a few values occurs.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

/// Memory: kMaxValues values of at most kMaxValueBytes. Not thread-safe.
class ValueCounts {
 public:
  /// Counting ends beyond either limit, because partial counts would be meaningless.
  static constexpr std::size_t kMaxValues = 1000;
  static constexpr std::size_t kMaxValueBytes = 100;

  void add(std::string_view value, std::uint64_t times = 1);
  void merge(const ValueCounts& other);
  /// Ends counting, and forgets the counts: there are too many values, or too long ones.
  void give_up();

  /// True if all values were counted; if false, there are no counts.
  bool is_complete() const { return is_complete_; }
  const std::map<std::string, std::uint64_t, std::less<>>& counts() const { return counts_; }
  std::uint64_t count_of(std::string_view value) const;
  std::uint64_t total() const { return total_; }
  /// The most frequent values, at most `most`; equally frequent ones by value.
  std::vector<std::pair<std::string, std::uint64_t>> top(std::size_t most) const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::uint64_t total_ = 0;
  bool is_complete_ = true;
};

}  // namespace headrace
