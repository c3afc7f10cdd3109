#include "headrace/stream/foreign_shard.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/glob.h"
#include "headrace/stream/tar_shard.h"
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

ShardEncoding shard_encoding(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return ShardEncoding::kGzip;
    case Compression::kZlib:
      return ShardEncoding::kZlib;
    case Compression::kNone:
      break;
  }
  return ShardEncoding::kPlain;
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

Result<std::vector<ForeignObject>> find_foreign_shards(const Location& location, const CallOptions& call) {
  const auto at = [&](const ObjectInfo& object) {
    return ForeignObject{{location.store, object.key, location.url}, object};
  };
  const bool has_wildcard = is_pattern(location.key);
  if (!location.key.empty() && !has_wildcard) {
    const auto object = location.store->stat(location.key, call);
    if (object) return std::vector{at(*object)};
    if (object.error().code != Code::kNotFound) return object.error();
  }
  std::vector<ObjectInfo> found;
  const std::string prefix = has_wildcard ? "" : folder_prefix(location.key);
  if (has_wildcard) {
    HEADRACE_TRY(found, find_objects(*location.store, location.key, call));
  } else {
    HEADRACE_TRY(found, list_all(*location.store, prefix, {.call = call}));
  }
  std::vector<ForeignObject> objects;
  for (const ObjectInfo& object : found) {
    const std::string_view name =
        has_wildcard ? last_segment(object.key) : std::string_view(object.key).substr(prefix.size());
    if (!is_hidden(name)) objects.push_back(at(object));
  }
  if (objects.empty()) {
    return Error{Code::kNotFound, has_wildcard ? concat("no object is as ", location.describe(), " says")
                                               : concat("there is no data set at ", location.describe(),
                                                        ": neither a manifest nor TFRecord files or tars")};
  }
  return objects;
}

ForeignShard foreign_shard(const ForeignObject& object, const ShardIndex& index) {
  ForeignShard out;
  out.shard.location = object.location;
  out.shard.version = object.object.version;
  out.shard.size_bytes = object.object.size_bytes;
  out.shard.record_count = index.record_count();
  out.shard.encoding = index.encoding();
  out.shard.index = index.serialize();
  out.blocks = index.blocks();
  return out;
}

namespace {

Result<ForeignShard> index_tfrecord_shard(const ForeignObject& object, CorruptionPolicy policy,
                                          const CallOptions& call) {
  std::vector<std::uint64_t> sizes;
  TfrecordSummary summary;
  const auto add = [&](BytesView record) { return sizes.push_back(record.size()), true; };
  const OnDamage on_damage = [&](const Error&, std::uint64_t lost_bytes) {
    // A record's worth of room, which never has a right checksum.
    sizes.push_back(lost_bytes - kRecordFramingBytes);
  };
  const Status read = read_tfrecord(
      object.location, object.object, kDefaultRecordLimitBytes, call, summary, add, [](std::uint64_t) {},
      policy == CorruptionPolicy::kFail ? nullptr : &on_damage);
  std::vector<std::string> remarks = std::move(summary.remarks);
  if (!read) {
    if (policy == CorruptionPolicy::kFail || read.error().code != Code::kDataLoss) return read.error();
    remarks.push_back(concat(read.error().message, "; the ", sizes.size(), " records before are used"));
  }
  ShardIndexBuilder builder(shard_encoding(summary.compression));
  std::uint64_t stream_bytes = 0;
  for (const std::uint64_t size : sizes) {
    builder.add_record(size);
    stream_bytes += size + kRecordFramingBytes;
  }
  const std::uint64_t size_bytes = object.object.size_bytes;
  if (summary.compression != Compression::kNone && !sizes.empty())
    builder.add_member(size_bytes, stream_bytes);
  // Of a cut plain file, the index is that of the whole records in front.
  const bool is_plain = summary.compression == Compression::kNone;
  HEADRACE_TRY(const ShardIndex index, std::move(builder).finish(is_plain ? stream_bytes : size_bytes, 0));
  ForeignShard shard = foreign_shard(object, index);
  shard.shard.cut = !read;
  shard.remarks = std::move(remarks);
  return shard;
}

}  // namespace

Result<ForeignShard> index_foreign_shard(const ForeignObject& object, CorruptionPolicy policy,
                                         const CallOptions& call) {
  HEADRACE_TRY(const bool is_tar, is_tar_shard(object, call));
  return is_tar ? index_tar_shard(object, policy, call) : index_tfrecord_shard(object, policy, call);
}

Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call) {
  HEADRACE_TRY(const ReadObject read, read_object(*shard.store, shard.key, kPublishedLimitBytes, call));
  if (read.data.size() != part.size_bytes || crc32c(read.data) != part.crc32c)
    return Error{Code::kDataLoss, concat(shard.describe(), " was altered since it was published")};
  const Compression compression = sniff_compression(read.data);
  ShardIndexBuilder builder(shard_encoding(compression));
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
