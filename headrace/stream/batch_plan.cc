#include "headrace/stream/batch_plan.h"

#include <algorithm>

#include "headrace/stream/order.h"

namespace headrace {
namespace {

std::vector<std::uint64_t> weights_of(const std::vector<BatchPlan::Source>& sources) {
  std::vector<std::uint64_t> weights;
  for (const BatchPlan::Source& source : sources) weights.push_back(source.weight);
  return weights;
}

}  // namespace

BatchPlan::BatchPlan(std::vector<Source> sources, std::uint64_t batch_size, bool drop_remainder,
                     const Share& share)
    : sources_(std::move(sources)), mixture_(weights_of(sources_)), batch_size_(batch_size) {
  const std::uint64_t shards = share.micro_shards == 0 ? batch_size : share.micro_shards;
  const std::uint64_t rows = batch_size / shards;  // of each shard
  row_first_ = share.rank * shards / share.world_size * rows;
  row_count_ = (share.rank + 1) * shards / share.world_size * rows - row_first_;
  for (const Source& source : sources_) records_per_epoch_ += source.record_count;
  batches_per_epoch_ = batches_in_epoch(records_per_epoch_, batch_size_, drop_remainder || is_mixture());
  if (is_mixture()) batches_per_epoch_ = std::max<std::uint64_t>(batches_per_epoch_, 1);
}

SourcePosition BatchPlan::split_epochs(std::size_t source, std::uint64_t position) const {
  const std::uint64_t count = sources_[source].record_count;
  return {source, position / count, position % count};
}

std::optional<SourcePosition> BatchPlan::record(std::uint64_t sequence, std::uint64_t i) const {
  if (is_mixture()) {
    const Mixture::Draw draw = mixture_.at(sequence * batch_size_ + i);
    return split_epochs(draw.source, draw.position);
  }
  const std::uint64_t position = sequence % batches_per_epoch_ * batch_size_ + i;
  if (position >= records_per_epoch_) return std::nullopt;
  return SourcePosition{0, sequence / batches_per_epoch_, position};
}

std::vector<SourcePosition> BatchPlan::rows(std::uint64_t sequence) const {
  std::vector<SourcePosition> rows;
  rows.reserve(row_count_);
  for (std::uint64_t i = row_first_; i < row_first_ + row_count_; ++i) {
    const std::optional<SourcePosition> row = record(sequence, i);
    if (!row) break;
    rows.push_back(*row);
  }
  return rows;
}

std::uint64_t BatchPlan::begin_of(std::size_t source, std::uint64_t sequence) const {
  if (is_mixture()) return mixture_.count_before(source, sequence * batch_size_);
  return sequence / batches_per_epoch_ * records_per_epoch_ + sequence % batches_per_epoch_ * batch_size_;
}

std::uint64_t BatchPlan::end_of(std::size_t source, std::uint64_t sequence) const {
  if (is_mixture()) return mixture_.count_before(source, (sequence + 1) * batch_size_);
  const std::uint64_t end = (sequence % batches_per_epoch_ + 1) * batch_size_;
  return sequence / batches_per_epoch_ * records_per_epoch_ + std::min(end, records_per_epoch_);
}

}  // namespace headrace
