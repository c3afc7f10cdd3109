#include "headrace/stream/foreign_shard.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/tfrecord_object.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPublishedLimitBytes = 256 << 20;
constexpr std::size_t kMemberLimitBytes = std::size_t{2} << 30;

bool is_hidden(std::string_view key_below) {
  const std::vector<std::string> segments = split(key_below, '/');
  return std::any_of(segments.begin(), segments.end(),
                     [](const std::string& s) { return s.starts_with('.') || s.starts_with('_'); });
}

ShardCompression shard_compression(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return ShardCompression::kGzip;
    case Compression::kZlib:
      return ShardCompression::kZlib;
    case Compression::kNone:
      break;
  }
  return ShardCompression::kNone;
}

// Adds the records that `framed` holds, whole ones alone.
Status add_records(BytesView framed, ShardIndexBuilder& builder) {
  RecordScanner scanner(framed);
  BytesView record;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) builder.add_record(record.size());
  return outcome == ScanOutcome::kEnd
             ? Status{}
             : scan_error(outcome, "the shard", scanner.position(), builder.record_count());
}

// The content of the first member, of unknown size.
Result<InflatedMember> inflate_first(BufferInflater& inflater, BytesView compressed, Compression compression,
                                     Bytes& content) {
  while (true) {
    auto member = inflater.member(compressed, compression, content);
    if (member || member.error().code != Code::kResourceExhausted || content.size() >= kMemberLimitBytes)
      return member;
    content.resize(2 * content.size());
  }
}

}  // namespace

Result<std::vector<ObjectInfo>> find_foreign_shards(const Location& location, const CallOptions& call) {
  std::vector<ObjectInfo> objects;
  if (!location.key.empty()) {
    auto object = location.store->stat(location.key, call);
    if (object) return std::vector<ObjectInfo>{*std::move(object)};
    if (object.error().code != Code::kNotFound) return std::move(object).error();
  }
  const std::string prefix = folder_prefix(location.key);
  HEADRACE_CHECK(location.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (!is_hidden(std::string_view(object.key).substr(prefix.size()))) objects.push_back(object);
    return true;
  }));
  if (objects.empty()) {
    return Error{Code::kNotFound, concat("there is no data set at ", location.describe(),
                                         ": neither a manifest nor TFRecord files")};
  }
  return objects;
}

Result<ForeignShard> index_foreign_shard(const Location& folder, const ObjectInfo& object,
                                         CorruptionPolicy policy, const CallOptions& call,
                                         std::vector<std::string>& remarks) {
  const Location location{folder.store, object.key, folder.url};
  std::vector<std::uint64_t> sizes;
  TfrecordSummary summary;
  const Status read = read_tfrecord(
      location, object, kDefaultRecordLimitBytes, call, summary,
      [&](BytesView record) { return sizes.push_back(record.size()), true; }, [](std::uint64_t) {});
  if (!read) {
    if (policy == CorruptionPolicy::kFail || read.error().code != Code::kDataLoss) return read.error();
    remarks.push_back(concat(read.error().message, "; the ", sizes.size(), " records before are used"));
  }
  ShardIndexBuilder builder(shard_compression(summary.compression));
  std::uint64_t stream_bytes = 0;
  for (const std::uint64_t size : sizes) {
    builder.add_record(size);
    stream_bytes += size + kRecordFramingBytes;
  }
  if (summary.compression != Compression::kNone && !sizes.empty())
    builder.add_member(object.size_bytes, stream_bytes);
  // Of a cut plain file, the index is that of the whole records in front.
  const bool is_plain = summary.compression == Compression::kNone;
  HEADRACE_TRY(ShardIndex index, std::move(builder).finish(is_plain ? stream_bytes : object.size_bytes, 0));
  ForeignShard out;
  out.shard.key = object.key;
  out.shard.version = object.version;
  out.shard.size_bytes = object.size_bytes;
  out.shard.record_count = index.record_count();
  out.shard.compression = index.compression();
  out.shard.index = index.serialize();
  out.shard.cut = !read;
  out.blocks = index.blocks();
  return out;
}

Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call) {
  HEADRACE_TRY(const ReadObject read, read_object(*shard.store, shard.key, kPublishedLimitBytes, call));
  if (read.data.size() != part.size_bytes || crc32c(read.data) != part.crc32c)
    return Error{Code::kDataLoss, concat(shard.describe(), " was altered since it was published")};
  const Compression compression = sniff_compression(read.data);
  ShardIndexBuilder builder(shard_compression(compression));
  if (compression == Compression::kNone) {
    HEADRACE_CHECK(add_records(read.data, builder));
    return std::move(builder).finish(part.size_bytes, part.crc32c);
  }
  BufferInflater inflater;
  Bytes content(1 << 20);
  for (BytesView rest = read.data; !rest.empty();) {
    HEADRACE_TRY(const InflatedMember member, inflate_first(inflater, rest, compression, content));
    HEADRACE_CHECK(add_records(BytesView(content).first(member.uncompressed_bytes), builder));
    builder.add_member(member.compressed_bytes, member.uncompressed_bytes);
    rest = rest.subspan(member.compressed_bytes);
  }
  return std::move(builder).finish(part.size_bytes, part.crc32c);
}

}  // namespace headrace
