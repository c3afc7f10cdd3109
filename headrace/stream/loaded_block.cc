#include "headrace/stream/loaded_block.h"

#include <algorithm>
#include <chrono>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

// Adds the time until it goes to a sum of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  const Clock::time_point start_ = Clock::now();
};

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

}  // namespace

const Error* LoadedBlock::hole(std::uint64_t record) const {
  if (holes_.empty()) return nullptr;
  const auto after = std::ranges::upper_bound(holes_, record, {}, &Hole::first);
  return after != holes_.begin() && record < (after - 1)->end ? &(after - 1)->error : nullptr;
}

BytesView LoadedBlock::data(std::uint64_t record) const {
  return stream_.view().subspan(offsets_[record] + data_offset_,
                                offsets_[record + 1] - offsets_[record] - kRecordFramingBytes);
}

Result<BytesView> LoadedBlock::record(std::uint64_t record) const {
  if (const Error* error = hole(record)) return *error;
  return data(record);
}

// Fetches the bytes that hold the block: whole members, the records of a plain shard, or samples.
Result<PooledBuffer> BlockLoader::fetch(const DatasetBlock& block, const CallOptions& call) {
  const Stopwatch stopwatch(stats_.fetch_seconds);
  const DatasetShard& shard = dataset_.shards()[block.shard];
  PooledBuffer stored = pool_->take(block.stored_bytes);
  HEADRACE_CHECK(
      read_exactly(*shard.location.store, shard.location.key, stored.bytes(),
                   {.offset_bytes = block.stored_offset, .if_version = shard.version, .call = call}));
  stats_.fetched_bytes += stored.size();
  return stored;
}

// Fills `target` with the content of all members.
Status BlockLoader::inflate(const DatasetShard& shard, BytesView compressed, MutableBytesView target) {
  const Compression compression = compression_of(shard.encoding);
  stats_.inflated_bytes += target.size();
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
    while (!compressed.empty() && compressed.front() == std::byte{0}) compressed = compressed.subspan(1);
    if (compressed.empty() && !target.empty())
      return Error{Code::kDataLoss, "the member is shorter than its index says"};
  }
  return {};
}

// Finds the records, if every one is sound and their number is right.
Status BlockLoader::check(const DatasetBlock& block, LoadedBlock& loaded) const {
  RecordScanner scanner(loaded.stream_.view());
  BytesView data;
  loaded.offsets_.reserve(block.record_count + 1);
  ScanOutcome outcome = ScanOutcome::kRecord;
  while (loaded.offsets_.size() <= block.record_count) {
    loaded.offsets_.push_back(scanner.position());
    if ((outcome = scanner.next(data)) != ScanOutcome::kRecord) break;
  }
  const bool is_whole = outcome == ScanOutcome::kEnd && loaded.offsets_.size() == block.record_count + 1;
  if (is_whole) return {};
  const std::uint64_t found = loaded.offsets_.size() - 1;
  const std::string name = dataset_.describe_shard(block.shard);
  if (outcome != ScanOutcome::kRecord && outcome != ScanOutcome::kEnd)
    return scan_error(outcome, name, block.stream_offset + loaded.offsets_.back(),
                      block.first_record + found);
  return Error{Code::kDataLoss,
               concat(name, ": ", found, outcome == ScanOutcome::kEnd ? "" : " or more", " records where ",
                      block.record_count, " were published, from record ", block.first_record, " on")};
}

Result<LoadedBlock> BlockLoader::load(const DatasetBlock& block, const CallOptions& call) {
  const DatasetShard& shard = dataset_.shards()[block.shard];
  LoadedBlock loaded;
  if (shard.lost) {
    loaded.hole_records_ = block.record_count;
    loaded.holes_.push_back(
        {0, block.record_count, {Code::kDataLoss, concat(dataset_.describe_shard(block.shard), " is lost")}});
    return loaded;
  }
  HEADRACE_TRY(PooledBuffer stored, fetch(block, call));
  Status status;
  if (is_compressed(shard.encoding)) {
    const Stopwatch stopwatch(stats_.inflate_seconds);
    loaded.stream_ = pool_->take(block.stream_bytes);
    status = inflate(shard, stored.view(), loaded.stream_.bytes());
  } else {
    loaded.stream_ = std::move(stored);
  }
  const bool is_tar = shard.encoding == ShardEncoding::kTar;
  {
    const Stopwatch stopwatch(stats_.check_seconds);
    if (status) status = is_tar ? convert(block, loaded) : check(block, loaded);
  }
  if (status) return loaded;
  loaded.offsets_.clear();
  if (is_tar) {
    loaded.stream_ = {};  // its headers are written over
    HEADRACE_TRY(loaded.stream_, fetch(block, call));
  }
  const Stopwatch stopwatch(stats_.check_seconds);
  HEADRACE_CHECK(salvage(block, call, stored.view(), loaded));
  if (policy_ == CorruptionPolicy::kFail) return with_advice(loaded.holes_.front().error);
  if (policy_ == CorruptionPolicy::kSkipShard) {
    loaded.holes_.resize(1);
    loaded.holes_.front().end = block.record_count;
  }
  return loaded;
}

// Whether the index says of the block what the manifest does: its records, and the members that hold them.
bool BlockLoader::fits(const ShardIndex& index, const DatasetBlock& block) const {
  const std::uint64_t end_record = block.first_record + block.record_count;
  if (index.encoding() != dataset_.shards()[block.shard].encoding || index.record_count() < end_record ||
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

// After damage: the index tells where each record should be, so every sound one is found, and none moves.
Status BlockLoader::salvage(const DatasetBlock& block, const CallOptions& call, BytesView stored,
                            LoadedBlock& loaded) {
  std::string remark;
  auto index = dataset_.shard_index(block.shard, call, remark);
  if (!remark.empty()) remarks_.push_back(remark);
  if (index && !fits(*index, block))
    index = Error{Code::kDataLoss, concat("the index of ", dataset_.describe_shard(block.shard),
                                          " does not fit its manifest")};
  if (!index) {
    if (index.error().code != Code::kDataLoss) return index.error();
    loaded.holes_.push_back({0, block.record_count, std::move(index).error()});
    loaded.hole_records_ = block.record_count;
    return {};
  }
  if (index->encoding() == ShardEncoding::kTar) {
    salvage_samples(block, *index, loaded);
  } else {
    salvage_records(block, *index, stored, loaded);
  }
  if (!loaded.holes_.empty()) return {};
  return Error{Code::kInternal,
               concat(dataset_.describe_shard(block.shard), ": damaged, but no record in it is")};
}

void BlockLoader::salvage_records(const DatasetBlock& block, const ShardIndex& index, BytesView stored,
                                  LoadedBlock& loaded) {
  std::vector<Damage> damage;
  if (is_compressed(index.encoding())) damage = inflate_members(block, index, stored, loaded.stream_.bytes());
  for (std::uint64_t i = 0; i < block.record_count; ++i) {
    const std::uint64_t record = block.first_record + i, begin = index.record_offset(record);
    loaded.offsets_.push_back(begin - block.stream_offset);
    auto data =
        check_record(loaded.stream_.view().subspan(loaded.offsets_.back(), index.record_bytes(record)),
                     record, begin, block.shard, damage);
    if (!data) loaded.holes_.push_back({i, i + 1, std::move(data).error()});
  }
  loaded.offsets_.push_back(block.stream_bytes);
}

// `size_bytes` of a tar's block from the byte `begin` on.
TarPart BlockLoader::part(const DatasetBlock& block, std::uint64_t begin, std::uint64_t size_bytes,
                          const LoadedBlock& loaded) const {
  const std::uint64_t offset = block.stored_offset + begin;
  return {loaded.stream_.bytes().subspan(begin, size_bytes), offset,
          offset + size_bytes == dataset_.shards()[block.shard].size_bytes};
}

// All of a tar's block at once.
Status BlockLoader::convert(const DatasetBlock& block, LoadedBlock& loaded) {
  loaded.data_offset_ = kRecordFramingBytes;
  loaded.offsets_.reserve(block.record_count + 1);
  HEADRACE_CHECK(converter_.convert(part(block, 0, block.stored_bytes, loaded), loaded.offsets_));
  const std::uint64_t found = loaded.offsets_.size();
  loaded.offsets_.push_back(block.stored_bytes);
  return found == block.record_count
             ? Status{}
             : Error{Code::kDataLoss,
                     concat(found, " samples, but ", block.record_count, " were found before")};
}

// Each sample by itself.
void BlockLoader::salvage_samples(const DatasetBlock& block, const ShardIndex& index, LoadedBlock& loaded) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t i = 0; i < block.record_count; ++i) {
    const std::uint64_t record = block.first_record + i;
    const std::uint64_t begin = index.record_offset(record) - block.stored_offset;
    loaded.offsets_.push_back(begin);
    found.clear();
    Status status = converter_.convert(part(block, begin, index.record_bytes(record), loaded), found);
    if (status && found.size() != 1)
      status = Error{Code::kDataLoss, concat(found.size(), " samples where there was one before")};
    if (status) continue;
    loaded.holes_.push_back(
        {i, i + 1,
         std::move(status).error().in(concat(dataset_.describe_shard(block.shard), ": record ", record))});
  }
  loaded.offsets_.push_back(block.stored_bytes);
}

// Each member by itself, so that damage to one does not reach the next.
std::vector<BlockLoader::Damage> BlockLoader::inflate_members(const DatasetBlock& block,
                                                              const ShardIndex& index, BytesView stored,
                                                              MutableBytesView target) {
  std::vector<Damage> damage;
  const std::uint64_t stored_end = block.stored_offset + block.stored_bytes;
  for (const ShardMember& member : index.members()) {
    const std::uint64_t end = member.compressed_offset + member.compressed_bytes;
    if (member.compressed_offset < block.stored_offset || end > stored_end) continue;
    Status status =
        inflate(dataset_.shards()[block.shard],
                stored.subspan(member.compressed_offset - block.stored_offset, member.compressed_bytes),
                target.subspan(member.uncompressed_offset - block.stream_offset, member.uncompressed_bytes));
    if (status) continue;
    std::string records = "the end of a record";  // a foreign one that lies across members
    if (member.record_count > 0)
      records = concat("records ", member.first_record, "–", member.first_record + member.record_count - 1);
    damage.push_back({member.uncompressed_offset, member.uncompressed_offset + member.uncompressed_bytes,
                      std::move(status).error().in(concat(dataset_.describe_shard(block.shard), ": ", records,
                                                          ", in the member at bytes ",
                                                          member.compressed_offset, "–", end - 1))});
  }
  return damage;
}

// The data of the framed record; or what is wrong with it.
Result<BytesView> BlockLoader::check_record(BytesView framed, std::uint64_t record,
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

}  // namespace headrace
