#include "headrace/stream/record_finder.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/stream/block_loader.h"

namespace headrace {
namespace {

constexpr std::size_t kKnown = 16;

}  // namespace

DatasetBlock block_around(const ShardIndex& index, std::uint32_t shard, std::uint64_t record) {
  if (!is_compressed(index.encoding())) {
    const std::uint64_t offset = index.record_offset(record), bytes = index.record_bytes(record);
    return {shard, record, 1, offset, bytes, offset, bytes};
  }
  const std::vector<ShardMember>& members = index.members();
  auto first = std::ranges::upper_bound(members, record, {}, &ShardMember::first_record) - 1;
  while (!first->begins_with_record || first->record_count == 0) --first;
  DatasetBlock block{shard,
                     first->first_record,
                     first->record_count,
                     first->compressed_offset,
                     first->compressed_bytes,
                     first->uncompressed_offset,
                     first->uncompressed_bytes};
  for (auto member = first + 1; member != members.end() && !member->begins_with_record; ++member) {
    block.record_count += member->record_count;
    block.stored_bytes += member->compressed_bytes;
    block.stream_bytes += member->uncompressed_bytes;
  }
  return block;
}

Result<std::shared_ptr<const ShardIndex>> RecordFinder::index_of(const Dataset& dataset, std::uint32_t shard,
                                                                 std::uint64_t record,
                                                                 const CallOptions& call) {
  const auto check = [&](const ShardIndex& index) -> Status {
    if (record < index.record_count()) return {};
    return Error{Code::kOutOfRange, concat(dataset.describe_shard(shard), " has ", index.record_count(),
                                           " records, so there is no record ", record)};
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        known_, [&](const Known& known) { return known.dataset == &dataset && known.shard == shard; });
    if (found != known_.end()) {
      std::rotate(found, found + 1, known_.end());
      HEADRACE_CHECK(check(*known_.back().index));
      return known_.back().index;
    }
  }
  std::string remark;
  HEADRACE_TRY(ShardIndex read, dataset.shard_index(shard, call, remark));
  auto index = std::make_shared<const ShardIndex>(std::move(read));
  const std::lock_guard lock(mutex_);
  if (known_.size() == kKnown) known_.erase(known_.begin());
  known_.push_back({&dataset, shard, index});
  HEADRACE_CHECK(check(*index));
  return index;
}

Result<std::uint64_t> RecordFinder::offset(const Dataset& dataset, std::uint32_t shard, std::uint64_t record,
                                           const CallOptions& call) {
  HEADRACE_TRY(const std::shared_ptr<const ShardIndex> index, index_of(dataset, shard, record, call));
  return index->record_offset(record);
}

Result<Bytes> RecordFinder::read(const Dataset& dataset, std::uint32_t shard, std::uint64_t record,
                                 const CallOptions& call) {
  HEADRACE_TRY(const std::shared_ptr<const ShardIndex> index, index_of(dataset, shard, record, call));
  const DatasetBlock block = block_around(*index, shard, record);
  BlockLoader loader(dataset, CorruptionPolicy::kSkipRecord, BufferPool::create());
  HEADRACE_TRY(const LoadedBlock loaded, loader.load(block, call));
  HEADRACE_TRY(const BytesView data, loaded.record(record - block.first_record));
  return Bytes(data.begin(), data.end());
}

}  // namespace headrace
