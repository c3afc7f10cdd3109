#include "headrace/statistics/value_counts.h"

#include <algorithm>

namespace headrace {

void ValueCounts::add(std::string_view value, std::uint64_t times) {
  if (!is_complete_) return;
  const auto found = counts_.find(value);
  if (found != counts_.end()) {
    found->second += times;
  } else if (value.size() > kMaxValueBytes || counts_.size() == kMaxValues) {
    return give_up();
  } else {
    counts_.emplace(value, times);
  }
  total_ += times;
}

void ValueCounts::merge(const ValueCounts& other) {
  if (!other.is_complete_) return give_up();
  for (const auto& [value, times] : other.counts_) add(value, times);
}

void ValueCounts::give_up() {
  is_complete_ = false;
  counts_.clear();
  total_ = 0;
}

std::uint64_t ValueCounts::count_of(std::string_view value) const {
  const auto found = counts_.find(value);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::pair<std::string, std::uint64_t>> ValueCounts::top(std::size_t most) const {
  std::vector<std::pair<std::string, std::uint64_t>> out(counts_.begin(), counts_.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  out.resize(std::min(out.size(), most));
  return out;
}

}  // namespace headrace
