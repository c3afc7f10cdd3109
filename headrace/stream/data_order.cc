#include "headrace/stream/data_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace {
namespace {

// ⌈count · thousandth / 1000⌉, computed without the product, which may exceed 64 bits.
std::uint64_t share_of(std::uint64_t count, std::uint64_t thousandth) {
  return count / kThousandths * thousandth +
         (count % kThousandths * thousandth + kThousandths - 1) / kThousandths;
}

}  // namespace

DataOrder::DataOrder(std::span<const OrderedShard> shards, int version)
    : version_(version), sequence_(shards.size()) {
  for (const OrderedShard& shard : shards) {
    Front& front = fronts_.emplace_back(Front{.record_count = shard.record_count});
    record_count_ += shard.record_count;
    if (version == 1 || shard.thousandths == nullptr || shard.thousandths->records.empty()) {
      front.spread_first = spread_records_;
      spread_records_ += shard.record_count;
      continue;
    }
    front.thousandth = shard.thousandths->first;
    front.sums.resize(shard.thousandths->records.size());
    std::partial_sum(shard.thousandths->records.begin(), shard.thousandths->records.end(),
                     front.sums.begin());
  }
  for (Front& front : fronts_) {
    if (front.sums.empty()) front.thousandth = spread_thousandth(front.spread_first);
  }
  std::iota(sequence_.begin(), sequence_.end(), 0U);
  std::ranges::stable_sort(sequence_, {}, [&](std::uint32_t i) { return fronts_[i].thousandth; });
}

// ⌊1000 · record / R⌋ without the product: the last thousandth that begins at or before the record.
std::uint64_t DataOrder::spread_thousandth(std::uint64_t record) const {
  std::uint64_t low = 0, high = kThousandths;
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    (share_of(spread_records_, middle) <= record ? low : high) = middle;
  }
  return low;
}

std::uint64_t DataOrder::last_thousandth(const Front& shard) const {
  if (shard.sums.empty())
    return spread_thousandth(shard.spread_first + std::max<std::uint64_t>(shard.record_count, 1) - 1);
  return shard.thousandth + shard.sums.size() - 1;
}

std::uint64_t DataOrder::records_below(const Front& shard, std::uint64_t thousandth) const {
  if (shard.sums.empty()) {
    const std::uint64_t end = share_of(spread_records_, thousandth);
    return std::min(end - std::min(end, shard.spread_first), shard.record_count);
  }
  if (thousandth <= shard.thousandth) return 0;
  return shard.sums[std::min<std::uint64_t>(thousandth - shard.thousandth, shard.sums.size()) - 1];
}

std::uint64_t DataOrder::records_below(std::uint64_t thousandth) const {
  std::uint64_t records = 0;
  for (const Front& front : fronts_) records += records_below(front, thousandth);
  return records;
}

std::vector<std::uint64_t> DataOrder::cut(std::uint64_t count) const {
  std::uint64_t low = 0, high = kThousandths;  // records_below(low) <= count; records_below(high) >= count
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    (records_below(middle) <= count ? low : high) = middle;
  }
  std::vector<std::uint64_t> fronts;
  for (const Front& front : fronts_) fronts.push_back(records_below(front, low));
  std::uint64_t left = count - std::accumulate(fronts.begin(), fronts.end(), std::uint64_t{0});
  for (const std::uint32_t shard : sequence_) {
    const std::uint64_t taken = std::min(left, records_below(fronts_[shard], high) - fronts[shard]);
    fronts[shard] += taken;
    left -= taken;
  }
  return fronts;
}

void DataOrder::visit(
    std::uint64_t count,
    const std::function<void(std::uint32_t shard, const RecordRange& records)>& visit_run) const {
  std::vector<std::uint64_t> visited(fronts_.size());
  std::uint64_t left = count;
  for (std::uint64_t end = 1; end <= kThousandths && left > 0; ++end) {
    for (const std::uint32_t shard : sequence_) {
      const std::uint64_t here = std::min(left, records_below(fronts_[shard], end) - visited[shard]);
      if (here == 0) continue;
      visit_run(shard, {visited[shard], here});
      visited[shard] += here;
      left -= here;
    }
  }
}

RecordRange DataOrder::validation_range(double share) const {
  if (version_ == 1) {
    const auto count = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(record_count_)));
    const std::uint64_t first = record_count_ - std::min(count, record_count_);
    return {first, record_count_ - first};
  }
  if (share <= 0) return {record_count_, 0};
  const double wanted = std::ceil(share * static_cast<double>(kThousandths) - 1e-6);
  const auto last = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(kThousandths)));
  const std::uint64_t first = records_below(kThousandths - last);
  return {first, record_count_ - first};
}

// If this is true, each range is a run of dataset order.
bool DataOrder::has_thousandths_in_sequence() const {
  std::uint64_t last = 0;
  for (const std::uint32_t shard : sequence_) {
    if (fronts_[shard].thousandth < last) return false;
    last = last_thousandth(fronts_[shard]);
  }
  return true;
}

bool DataOrder::is_same(const DataOrder& other) const {
  return sequence_ == other.sequence_ && record_count_ == other.record_count_ &&
         has_thousandths_in_sequence() && other.has_thousandths_in_sequence();
}

}  // namespace headrace
