#include "headrace/stream/block_reader.h"

#include <chrono>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Compression compression_of(ShardCompression compression) {
  return compression == ShardCompression::kGzip ? Compression::kGzip : Compression::kZlib;
}

}  // namespace

// Fetches what holds the block into fetched_: whole members, or the records of a plain shard.
Status BlockReader::fetch(const DatasetBlock& block, const CallOptions& call) {
  const auto start = Clock::now();
  const DatasetShard& shard = dataset_.shards()[block.shard];
  std::uint64_t begin = 0, end = 0;
  if (shard.index.compression() == ShardCompression::kNone) {
    begin = shard.index.record_offset(block.first_record);
    end = shard.index.record_offset(block.first_record + block.record_count);
  } else {
    const ShardMember& last = shard.index.members()[block.first_member + block.member_count - 1];
    begin = shard.index.members()[block.first_member].compressed_offset;
    end = last.compressed_offset + last.compressed_bytes;
  }
  fetched_.resize(end - begin);
  HEADRACE_CHECK(read_exactly(*dataset_.location().store, shard.key, fetched_,
                              {.offset_bytes = begin, .if_version = shard.version, .call = call}));
  stats_.fetched_bytes += fetched_.size();
  stats_.fetch_seconds += seconds_since(start);
  return {};
}

// Fills `target`. A foreign file is one member to its index, but may be several.
Status BlockReader::inflate_member(BytesView compressed, const DatasetShard& shard, MutableBytesView target) {
  const Compression compression = compression_of(shard.index.compression());
  if (shard.cut) {
    // Neither the content's end nor its checksum can be had; the records have their own.
    Inflater inflater(compression);
    HEADRACE_TRY(const InflateStep front, inflater.step(compressed, target));
    target = target.subspan(front.produced_bytes);
    return target.empty() ? Status{} : Error{Code::kDataLoss, "the file is shorter than it was"};
  }
  while (!target.empty()) {
    HEADRACE_TRY(const InflatedMember done, inflater_.member(compressed, compression, target));
    compressed = compressed.subspan(done.compressed_bytes);
    target = target.subspan(done.uncompressed_bytes);
    if (compressed.empty() && !target.empty())
      return Error{Code::kDataLoss, "the member is shorter than its index says"};
  }
  return {};
}

// Inflates fetched_ into inflated_, member by member; what could not be inflated is named in `damage`.
void BlockReader::inflate(const DatasetBlock& block, std::vector<Damage>& damage) {
  const auto start = Clock::now();
  const DatasetShard& shard = dataset_.shards()[block.shard];
  const std::span members = std::span(shard.index.members()).subspan(block.first_member, block.member_count);
  const std::uint64_t base = members.front().uncompressed_offset,
                      compressed_base = members.front().compressed_offset;
  inflated_.resize(members.back().uncompressed_offset + members.back().uncompressed_bytes - base);
  for (const ShardMember& member : members) {
    const BytesView compressed =
        BytesView(fetched_).subspan(member.compressed_offset - compressed_base, member.compressed_bytes);
    const MutableBytesView target =
        MutableBytesView(inflated_).subspan(member.uncompressed_offset - base, member.uncompressed_bytes);
    Status status = inflate_member(compressed, shard, target);
    if (status) continue;
    const std::uint64_t end = member.compressed_offset + member.compressed_bytes;
    std::string records = "the end of a record";  // a foreign one that lies across members
    if (member.record_count > 0)
      records = concat("records ", member.first_record, "–", member.first_record + member.record_count - 1);
    damage.push_back({member.uncompressed_offset, member.uncompressed_offset + member.uncompressed_bytes,
                      std::move(status).error().in(concat(dataset_.location().store->describe(shard.key),
                                                          ": ", records, ", in the member at bytes ",
                                                          member.compressed_offset, "–", end - 1))});
  }
  stats_.inflated_bytes += inflated_.size();
  stats_.inflate_seconds += seconds_since(start);
}

Status BlockReader::read(const DatasetBlock& block, const CallOptions& call, const Visit& visit) {
  HEADRACE_CHECK(fetch(block, call));
  const ShardIndex& index = dataset_.shards()[block.shard].index;
  std::vector<Damage> damage;
  BytesView stream = fetched_;
  std::uint64_t base = index.record_offset(block.first_record);
  if (index.compression() != ShardCompression::kNone) {
    inflate(block, damage);
    stream = inflated_;
    base = index.members()[block.first_member].uncompressed_offset;
  }
  for (std::uint64_t i = 0; i < block.record_count; ++i) {
    const std::uint64_t record = block.first_record + i;
    const std::uint64_t begin = index.record_offset(record), size = index.record_bytes(record);
    HEADRACE_CHECK(
        visit(i, check_record(stream.subspan(begin - base, size), record, begin, block.shard, damage)));
  }
  return {};
}

// The data of the framed record; or what is wrong with it.
Result<BytesView> BlockReader::check_record(BytesView framed, std::uint64_t record,
                                            std::uint64_t offset_bytes, std::uint32_t shard,
                                            const std::vector<Damage>& damage) const {
  for (const Damage& part : damage) {
    if (offset_bytes < part.end_bytes && offset_bytes + framed.size() > part.begin_bytes) return part.error;
  }
  RecordScanner scanner(framed);
  BytesView data;
  const ScanOutcome outcome = scanner.next(data);
  if (outcome == ScanOutcome::kRecord && data.size() + kRecordFramingBytes == framed.size()) return data;
  return scan_error(outcome == ScanOutcome::kRecord ? ScanOutcome::kBadLengthChecksum : outcome,
                    dataset_.location().store->describe(dataset_.shards()[shard].key), offset_bytes, record);
}

}  // namespace headrace
