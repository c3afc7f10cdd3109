#include "headrace/stream/stored_block_reader.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

Result<PooledBuffer> StoredBlockReader::fetch(const DatasetBlock& block, const CallOptions& call) {
  const Stopwatch stopwatch(stats_.fetch_seconds);
  const DatasetShard& shard = shard_of(block);
  PooledBuffer stored = pool_->take(block.stored_bytes);
  HEADRACE_CHECK(
      read_exactly(*shard.location.store, shard.location.key, stored.bytes(),
                   {.offset_bytes = block.stored_offset, .if_version = shard.version, .call = call}));
  stats_.fetched_bytes += stored.size();
  return stored;
}

// Whether the index agrees with the manifest about the block: its records, and the members that hold them.
bool StoredBlockReader::fits(const ShardIndex& index, const DatasetBlock& block) const {
  const std::uint64_t end_record = block.first_record + block.record_count;
  if (index.encoding() != shard_of(block).encoding || index.record_count() < end_record ||
      index.record_offset(block.first_record) != block.stream_offset ||
      index.record_offset(end_record) != block.stream_offset + block.stream_bytes)
    return false;
  if (!is_compressed(index.encoding()))
    return block.stored_offset == block.stream_offset && block.stored_bytes == block.stream_bytes;
  const auto is_end = [&](const ShardMember& member) {
    return member.compressed_offset + member.compressed_bytes == block.stored_offset + block.stored_bytes &&
           member.uncompressed_offset + member.uncompressed_bytes == block.stream_offset + block.stream_bytes;
  };
  const auto first = std::ranges::find(index.members(), block.stored_offset, &ShardMember::compressed_offset);
  return first != index.members().end() && first->uncompressed_offset == block.stream_offset &&
         std::any_of(first, index.members().end(), is_end);
}

// The shard's index, if it agrees with the manifest.
Result<ShardIndex> StoredBlockReader::find_index(const DatasetBlock& block, const CallOptions& call) {
  const Stopwatch stopwatch(stats_.check_seconds);
  std::string remark;
  auto index = dataset_.shard_index(block.shard, call, remark);
  if (!remark.empty()) remarks_.push_back(remark);
  if (!index || fits(*index, block)) return index;
  return Error{Code::kDataLoss,
               concat("the index of ", dataset_.describe_shard(block.shard), " does not match its manifest")};
}

Result<LoadedBlock> StoredBlockReader::read(const DatasetBlock& block, const CallOptions& call) {
  HEADRACE_TRY(PooledBuffer stored, fetch(block, call));
  BlockContents contents;
  if (find_records(block, stored, contents)) return LoadedBlock(std::move(contents));
  contents.offsets.clear();
  auto index = find_index(block, call);
  if (!index) {
    if (index.error().code != Code::kDataLoss) return index.error();
    return LoadedBlock::lost(block.record_count, std::move(index).error());
  }
  HEADRACE_CHECK(salvage(block, *index, call, stored, contents));
  if (!contents.holes.empty()) return LoadedBlock(std::move(contents));
  return Error{Code::kInternal, concat(dataset_.describe_shard(block.shard),
                                       ": the block is damaged, but none of its records is")};
}

}  // namespace headrace
