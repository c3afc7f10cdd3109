#include "headrace/stream/strata.h"

#include <algorithm>
#include <map>

namespace headrace {

Strata::Strata(DataOrder order, std::vector<std::uint32_t> classes)
    : order_(std::move(order)), strata_(std::move(classes)) {
  std::map<std::uint32_t, std::uint64_t> records;
  for (const std::uint32_t number : strata_) ++records[number];
  std::map<std::uint32_t, std::uint32_t> stratum_of;
  for (const auto& [number, count] : records) {
    stratum_of[number] = static_cast<std::uint32_t>(counts_.size());
    counts_.push_back(count);
  }
  for (std::uint32_t& number : strata_) number = stratum_of[number];
}

std::vector<std::uint64_t> Strata::select(std::span<const RecordRange> ranges) const {
  const std::uint64_t count = strata_.size();
  const std::vector<std::uint64_t> fronts = order_.cut(count);
  std::vector<std::uint64_t> begins(fronts.size());  // the first record of each shard, in dataset order
  std::uint64_t before = 0;
  for (const std::uint32_t shard : order_.shards()) {
    begins[shard] = before;
    before += fronts[shard];
  }
  std::vector<std::uint64_t> seen(counts_.size()), selected;
  std::uint64_t wanted_records = 0;
  for (const RecordRange& wanted : ranges) wanted_records += wanted.count;
  selected.reserve(wanted_records);  // a vector that grows would take up to three times as much memory
  order_.visit(count, [&](std::uint32_t shard, const RecordRange& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t number = begins[shard] + run.first + i;
      const std::uint32_t stratum = strata_[number];
      const RecordRange& wanted = ranges[stratum];
      const std::uint64_t rank = seen[stratum]++;
      if (rank >= wanted.first && rank - wanted.first < wanted.count) selected.push_back(number);
    }
  });
  std::ranges::sort(selected);
  return selected;
}

}  // namespace headrace
