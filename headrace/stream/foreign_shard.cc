#include "headrace/stream/foreign_shard.h"

#include <algorithm>
#include <set>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/coordinate/chain.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/glob.h"
#include "headrace/stream/shard_kinds.h"
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

// Adds the whole records that `framed` holds.
Status add_records(BytesView framed, ShardIndexBuilder& builder) {
  RecordScanner scanner(framed);
  BytesView record;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) builder.add_record(record.size());
  return outcome == ScanOutcome::kEnd
             ? Status{}
             : scan_error(outcome, "the shard", scanner.position(), builder.record_count());
}

// Decompresses the first member, whose content has an unknown size.
Result<InflatedMember> inflate_first(BufferInflater& inflater, BytesView compressed, Compression compression,
                                     Bytes& content) {
  while (true) {
    auto member = inflater.member(compressed, compression, content);
    if (member || member.error().code != Code::kResourceExhausted || content.size() >= kMemberLimitBytes)
      return member;
    content.resize(2 * content.size());
  }
}

ForeignObject foreign_object(const Location& location, const ObjectInfo& object) {
  return {{location.store, object.key, location.url}, object};
}

// The objects that are no index of another object, and whose keys have no hidden part after `prefix_bytes`.
std::vector<ForeignObject> visible_objects(const Location& location, const std::vector<ObjectInfo>& found,
                                           std::size_t prefix_bytes) {
  constexpr std::string_view kIndex = ".index";
  std::set<std::string_view> keys;
  for (const ObjectInfo& object : found) keys.insert(object.key);
  std::vector<ForeignObject> objects;
  for (const ObjectInfo& object : found) {
    const std::string_view key = object.key;
    const bool is_index = key.ends_with(kIndex) && keys.contains(key.substr(0, key.size() - kIndex.size()));
    if (!is_index && !is_hidden(key.substr(prefix_bytes)))
      objects.push_back(foreign_object(location, object));
  }
  return objects;
}

}  // namespace

Result<std::vector<ForeignObject>> find_foreign_objects(const Location& location, const CallOptions& call) {
  if (!location.key.empty()) {
    // A key that looks like a pattern may be the name of an object.
    const auto object = location.store->stat(location.key, call);
    if (object) return std::vector{foreign_object(location, *object)};
    if (object.error().code != Code::kNotFound && !is_pattern(location.key)) return object.error();
  }
  const std::string folder = folder_prefix(location.key);
  HEADRACE_TRY(const std::vector<ObjectInfo> below, list_all(*location.store, folder, {.call = call}));
  const auto is_in_chain = [&](const ObjectInfo& object) {
    return object.key.starts_with(concat(folder, kManifestPrefix));
  };
  std::optional<NumberedObject> published;
  if (std::ranges::any_of(below, is_in_chain)) {
    HEADRACE_TRY(published, read_current_manifest(location, call));
  }
  if (published) {
    return Error{
        Code::kInvalidArgument,
        concat(location.describe(),
               " is a published dataset: open it alone, by its URL; to read several, make a mixture")};
  }
  if (!below.empty() || !is_pattern(location.key)) {
    const std::vector<ForeignObject> objects = visible_objects(location, below, folder.size());
    if (!objects.empty()) return objects;
    return Error{Code::kNotFound, concat("there is no dataset at ", location.describe(),
                                         ": neither a manifest nor TFRecord files or tars")};
  }
  HEADRACE_TRY(const std::vector<ObjectInfo> found, find_objects(*location.store, location.key, call));
  const std::size_t folder_end = literal_prefix(location.key).rfind('/');
  const std::vector<ForeignObject> objects =
      visible_objects(location, found, folder_end == std::string_view::npos ? 0 : folder_end + 1);
  if (!objects.empty()) return objects;
  return Error{Code::kNotFound, concat("no object matches ", location.describe())};
}

ForeignShard foreign_shard(const ForeignObject& object, const ShardIndex& index) {
  ForeignShard out;
  out.shard.kind = shard_kind(index.encoding());
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

// Adds the members. Each ends where the next one begins, and the last one at the end of the file.
void add_members(const std::vector<MemberStart>& starts, std::uint64_t compressed_bytes,
                 std::uint64_t uncompressed_bytes, ShardIndexBuilder& builder) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const MemberStart end =
        i + 1 < starts.size() ? starts[i + 1] : MemberStart{compressed_bytes, uncompressed_bytes};
    builder.add_member(end.compressed_offset - starts[i].compressed_offset,
                       end.uncompressed_offset - starts[i].uncompressed_offset);
  }
}

Result<ForeignShard> index_tfrecord_shard(const ForeignObject& object, CorruptionPolicy policy,
                                          const CallOptions& call) {
  std::vector<std::uint64_t> sizes;
  TfrecordSummary summary;
  const auto add = [&](BytesView record) { return sizes.push_back(record.size()), true; };
  const OnDamage on_damage = [&](const Error&, std::uint64_t lost_bytes) {
    // A record that fills the lost range. Its checksum is never right, so it is a hole.
    sizes.push_back(lost_bytes - kRecordFramingBytes);
  };
  const Status read = read_tfrecord(
      object.location, object.object, kDefaultRecordLimitBytes, call, summary, add, [](std::uint64_t) {},
      policy == CorruptionPolicy::kFail ? nullptr : &on_damage);
  std::vector<std::string> remarks = std::move(summary.remarks);
  if (!read) {
    if (policy == CorruptionPolicy::kFail || read.error().code != Code::kDataLoss) return read.error();
    remarks.push_back(concat(read.error().message, "; the ", sizes.size(), " records before it are used"));
  }
  ShardIndexBuilder builder(shard_encoding(summary.compression));
  std::uint64_t stream_bytes = 0;
  for (const std::uint64_t size : sizes) {
    builder.add_record(size);
    stream_bytes += size + kRecordFramingBytes;
  }
  const std::uint64_t size_bytes = object.object.size_bytes;
  if (summary.compression != Compression::kNone && !sizes.empty()) {
    // If something is lost, the whole file is one member.
    const bool is_whole = remarks.empty() && stream_bytes == summary.uncompressed_bytes;
    add_members(is_whole ? summary.member_starts : std::vector<MemberStart>{{}}, size_bytes, stream_bytes,
                builder);
  }
  // The index of a truncated plain file covers the whole records before the truncation.
  const bool is_plain = summary.compression == Compression::kNone;
  HEADRACE_TRY(const ShardIndex index, std::move(builder).finish(is_plain ? stream_bytes : size_bytes, 0));
  ForeignShard shard = foreign_shard(object, index);
  // Bytes at the end that belong to no record are not read, and neither is the member's checksum.
  shard.shard.cut = !read || (!is_plain && stream_bytes < summary.uncompressed_bytes);
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
