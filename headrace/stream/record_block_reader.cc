#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/shard_kinds.h"
#include "headrace/stream/stored_block_reader.h"

namespace headrace {
namespace {

Compression compression_of(ShardEncoding encoding) {
  switch (encoding) {
    case ShardEncoding::kGzip:
      return Compression::kGzip;
    case ShardEncoding::kZlib:
      return Compression::kZlib;
    case ShardEncoding::kPlain:
    case ShardEncoding::kTar:
      break;
  }
  return Compression::kNone;
}

class RecordBlockReader final : public StoredBlockReader {
 public:
  RecordBlockReader(const Dataset& dataset, const BlockReaderOptions& options)
      : StoredBlockReader(dataset, options.pool) {}

 private:
  // A range of the uncompressed stream that cannot be read.
  struct Damage {
    std::uint64_t begin_bytes = 0;
    std::uint64_t end_bytes = 0;
    Error error;
  };
  Status find_records(const DatasetBlock& block, PooledBuffer& stored, BlockContents& contents) override;
  Status salvage(const DatasetBlock& block, const ShardIndex& index, const CallOptions& call,
                 PooledBuffer& stored, BlockContents& contents) override;
  Status inflate(const DatasetShard& shard, BytesView compressed, MutableBytesView target);
  Status check(const DatasetBlock& block, BlockContents& contents) const;
  std::vector<Damage> inflate_members(const DatasetBlock& block, const ShardIndex& index, BytesView stored,
                                      MutableBytesView target);
  Result<BytesView> check_record(BytesView framed, std::uint64_t record, std::uint64_t offset_bytes,
                                 std::uint32_t shard, const std::vector<Damage>& damage) const;

  BufferInflater inflater_;
};

// Fills `target` with the content of all members.
Status RecordBlockReader::inflate(const DatasetShard& shard, BytesView compressed, MutableBytesView target) {
  const Compression compression = compression_of(shard.encoding);
  stats_.inflated_bytes += target.size();
  if (shard.cut) {
    // The end of the content and its checksum are missing. The records have checksums of their own.
    Inflater inflater(compression);
    HEADRACE_TRY(const InflateStep front, inflater.step(compressed, target));
    target = target.subspan(front.produced_bytes);
    return target.empty() ? Status{} : Error{Code::kDataLoss, "the file is shorter than it was"};
  }
  while (!target.empty()) {
    HEADRACE_TRY(const InflatedMember done, inflater_.member(compressed, compression, target));
    compressed = compressed.subspan(done.compressed_bytes);
    target = target.subspan(done.uncompressed_bytes);
    while (!compressed.empty() && compressed.front() == std::byte{0}) compressed = compressed.subspan(1);
    if (compressed.empty() && !target.empty())
      return Error{Code::kDataLoss, "the member is shorter than its index says"};
  }
  return {};
}

// Finds the records. Fails if a record is damaged or their number is wrong.
Status RecordBlockReader::check(const DatasetBlock& block, BlockContents& contents) const {
  RecordScanner scanner(contents.bytes.view());
  BytesView data;
  contents.offsets.reserve(block.record_count + 1);
  ScanOutcome outcome = ScanOutcome::kRecord;
  while (contents.offsets.size() <= block.record_count) {
    contents.offsets.push_back(scanner.position());
    if ((outcome = scanner.next(data)) != ScanOutcome::kRecord) break;
  }
  const bool is_whole = outcome == ScanOutcome::kEnd && contents.offsets.size() == block.record_count + 1;
  if (is_whole) return {};
  const std::uint64_t found = contents.offsets.size() - 1;
  const std::string name = dataset_.describe_shard(block.shard);
  if (outcome != ScanOutcome::kRecord && outcome != ScanOutcome::kEnd)
    return scan_error(outcome, name, block.stream_offset + contents.offsets.back(),
                      block.first_record + found);
  return Error{
      Code::kDataLoss,
      concat(name, ": found ", found, outcome == ScanOutcome::kEnd ? "" : " or more", " records from record ",
             block.first_record, " on, but ", block.record_count, " were published")};
}

Status RecordBlockReader::find_records(const DatasetBlock& block, PooledBuffer& stored,
                                       BlockContents& contents) {
  if (is_compressed(shard_of(block).encoding)) {
    const Stopwatch stopwatch(stats_.inflate_seconds);
    contents.bytes = pool_->take(block.stream_bytes);
    HEADRACE_CHECK(inflate(shard_of(block), stored.view(), contents.bytes.bytes()));
  } else {
    contents.bytes = std::move(stored);
  }
  const Stopwatch stopwatch(stats_.check_seconds);
  return check(block, contents);
}

Status RecordBlockReader::salvage(const DatasetBlock& block, const ShardIndex& index, const CallOptions&,
                                  PooledBuffer& stored, BlockContents& contents) {
  const Stopwatch stopwatch(stats_.check_seconds);
  std::vector<Damage> damage;
  if (is_compressed(index.encoding()))
    damage = inflate_members(block, index, stored.view(), contents.bytes.bytes());
  for (std::uint64_t i = 0; i < block.record_count; ++i) {
    const std::uint64_t record = block.first_record + i, begin = index.record_offset(record);
    contents.offsets.push_back(begin - block.stream_offset);
    auto data =
        check_record(contents.bytes.view().subspan(contents.offsets.back(), index.record_bytes(record)),
                     record, begin, block.shard, damage);
    if (!data) contents.holes.push_back({i, i + 1, std::move(data).error()});
  }
  contents.offsets.push_back(block.stream_bytes);
  return {};
}

// Decompresses each member by itself, so that damage in one member does not affect the next.
std::vector<RecordBlockReader::Damage> RecordBlockReader::inflate_members(const DatasetBlock& block,
                                                                          const ShardIndex& index,
                                                                          BytesView stored,
                                                                          MutableBytesView target) {
  std::vector<Damage> damage;
  const std::uint64_t stored_end = block.stored_offset + block.stored_bytes;
  for (const ShardMember& member : index.members()) {
    const std::uint64_t end = member.compressed_offset + member.compressed_bytes;
    if (member.compressed_offset < block.stored_offset || end > stored_end) continue;
    Status status =
        inflate(shard_of(block),
                stored.subspan(member.compressed_offset - block.stored_offset, member.compressed_bytes),
                target.subspan(member.uncompressed_offset - block.stream_offset, member.uncompressed_bytes));
    if (status) continue;
    std::string records = "the end of a record";  // in a foreign file, a record may span several members
    if (member.record_count > 0)
      records = concat("records ", member.first_record, "–", member.first_record + member.record_count - 1);
    damage.push_back({member.uncompressed_offset, member.uncompressed_offset + member.uncompressed_bytes,
                      std::move(status).error().in(concat(dataset_.describe_shard(block.shard), ": ", records,
                                                          ", in the member at bytes ",
                                                          member.compressed_offset, "–", end - 1))});
  }
  return damage;
}

// The data of the framed record, or an error that says what is wrong with the record.
Result<BytesView> RecordBlockReader::check_record(BytesView framed, std::uint64_t record,
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
                    dataset_.describe_shard(shard), offset_bytes, record);
}

class RecordShards final : public ShardKind {
 public:
  std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                           const BlockReaderOptions& options) const override {
    return std::make_unique<RecordBlockReader>(dataset, options);
  }
  // While records are decompressed, the compressed bytes are in memory, too.
  std::uint64_t reading_bytes(const DatasetShard& shard, const DatasetBlock& block) const override {
    return is_compressed(shard.encoding) ? block.stored_bytes : 0;
  }
};

}  // namespace

std::shared_ptr<const ShardKind> record_shards() {
  static const auto kind = std::make_shared<const RecordShards>();
  return kind;
}

}  // namespace headrace
