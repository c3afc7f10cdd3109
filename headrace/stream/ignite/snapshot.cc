#include "headrace/stream/ignite/snapshot.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/hash.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/index.h"
#include "headrace/record/tfrecord.h"

namespace headrace::ignite {
namespace {

constexpr std::string_view kMagic("HRIGNIT\0", 8);
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kEntryBytes = 64;
constexpr std::size_t kTrailerBytes = 32;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kPieceOfUpload = 1 << 20;
// The reader refuses a description and table beyond this limit: 16 million sections are 128 TiB of rows.
constexpr std::uint64_t kTableLimitBytes = std::uint64_t{1} << 30;

// A section ends at 8 MiB. A row comes in a message of at most 512 MiB, and its tf.Example is at most five
// times as large: a list of negative shorts. So no snapshot has measured a larger room.
constexpr std::uint64_t kRoomLimitBytes = std::uint64_t{8} << 30;

void append_entry(const SnapshotSection& section, Bytes& out) {
  append_little_endian(out, section.partition);
  append_little_endian(out, section.row_count);
  append_little_endian(out, section.offset_bytes);
  append_little_endian(out, section.size_bytes);
  append_little_endian(out, section.room_bytes);
  append(out, section.digest);
}

SnapshotSection entry_at(const std::byte* from) {
  SnapshotSection section{.partition = load_little_endian<std::int32_t>(from),
                          .row_count = load_little_endian<std::uint32_t>(from + 4),
                          .offset_bytes = load_little_endian<std::uint64_t>(from + 8),
                          .size_bytes = load_little_endian<std::uint64_t>(from + 16),
                          .room_bytes = load_little_endian<std::uint64_t>(from + 24)};
  std::memcpy(section.digest.data(), from + 32, section.digest.size());
  return section;
}

std::string description_json(const SnapshotDescription& description) {
  return Json{{"cache", description.cache},
              {"partitions", description.partitions},
              {"dataset", dataset_attributes_to_json(description.dataset)},
              {"remarks", description.remarks}}
      .dump();
}

Result<SnapshotDescription> parse_description(BytesView bytes) {
  return read_json(as_text(bytes), "its description", [](const Json& json) -> Result<SnapshotDescription> {
    SnapshotDescription description{.cache = json.get<std::string>("cache"),
                                    .partitions = json.get<std::vector<std::int32_t>>("partitions"),
                                    .remarks = json.get<std::vector<std::string>>("remarks")};
    HEADRACE_TRY(description.dataset, parse_dataset_attributes(json.get<std::string>("dataset")));
    return description;
  });
}

Status check_section(const SnapshotSection& section, std::int32_t partition_before,
                     std::uint64_t end_of_sections) {
  const bool lies_inside = section.offset_bytes >= kMagic.size() && section.offset_bytes <= end_of_sections &&
                           section.size_bytes <= end_of_sections - section.offset_bytes;
  if (section.partition < -1 || section.partition < partition_before || section.row_count == 0 ||
      !lies_inside || section.room_bytes / kRecordFramingBytes < section.row_count ||
      section.room_bytes > kRoomLimitBytes)
    return Error{Code::kDataLoss, "its table contradicts itself"};
  return {};
}

struct Trailer {
  std::uint64_t description_bytes = 0;
  std::uint64_t sections = 0;
  std::uint32_t checksum = 0;
  std::uint64_t table_bytes() const { return description_bytes + sections * kEntryBytes; }
};

Result<Trailer> parse_trailer(BytesView bytes, std::uint64_t object_bytes) {
  const std::byte* const from = bytes.data();
  if (bytes.size() < kTrailerBytes || std::memcmp(from + 24, kMagic.data(), kMagic.size()) != 0)
    return Error{Code::kDataLoss, "it is not a snapshot of a cache, or it is cut off"};
  if (const auto version = load_little_endian<std::uint32_t>(from + 20); version != kVersion)
    return Error{Code::kUnimplemented, concat("it has version ", version, "; this Headrace reads version 1")};
  const Trailer trailer{.description_bytes = load_little_endian<std::uint64_t>(from),
                        .sections = load_little_endian<std::uint64_t>(from + 8),
                        .checksum = load_little_endian<std::uint32_t>(from + 16)};
  const bool is_small =
      trailer.description_bytes <= kTableLimitBytes && trailer.sections <= kTableLimitBytes / kEntryBytes;
  if (!is_small || trailer.table_bytes() > object_bytes - kMagic.size() - kTrailerBytes)
    return Error{Code::kDataLoss, "its table has an impossible size"};
  return trailer;
}

Result<Snapshot> parse_table(BytesView bytes, const Trailer& trailer, std::uint64_t end_of_sections) {
  if (crc32c(bytes) != trailer.checksum) return Error{Code::kDataLoss, "its table is damaged"};
  Snapshot snapshot;
  HEADRACE_TRY(snapshot.description, parse_description(bytes.subspan(0, trailer.description_bytes)));
  snapshot.sections.reserve(trailer.sections);
  std::int32_t partition = -1;
  for (std::uint64_t i = 0; i < trailer.sections; ++i) {
    const SnapshotSection section = entry_at(bytes.data() + trailer.description_bytes + i * kEntryBytes);
    HEADRACE_CHECK(check_section(section, partition, end_of_sections));
    partition = section.partition;
    snapshot.sections.push_back(section);
  }
  return snapshot;
}

Result<Snapshot> read_table(const Location& location, const ObjectInfo& object, const CallOptions& call) {
  if (object.size_bytes < kMagic.size() + kTrailerBytes)
    return Error{Code::kDataLoss, "it is not a snapshot of a cache, or it is cut off"};
  const auto read = [&](std::uint64_t offset, Bytes& target) {
    return read_exactly(*location.store, location.key, target,
                        {.offset_bytes = offset, .if_version = object.version, .call = call});
  };
  Bytes last(kTrailerBytes);
  HEADRACE_CHECK(read(object.size_bytes - kTrailerBytes, last));
  HEADRACE_TRY(const Trailer trailer, parse_trailer(last, object.size_bytes));
  Bytes table(trailer.table_bytes());
  const std::uint64_t begin = object.size_bytes - kTrailerBytes - table.size();
  HEADRACE_CHECK(read(begin, table));
  return parse_table(table, trailer, begin);
}

}  // namespace

std::string Snapshot::digest() const {
  Sha256 digest;
  Bytes entry;
  for (const SnapshotSection& section : sections) {
    entry.clear();
    append_little_endian(entry, section.partition);
    append_little_endian(entry, section.row_count);
    append_little_endian(entry, section.room_bytes);
    append(entry, section.digest);
    digest.update(entry);
  }
  return hex(digest.finish());
}

Result<Snapshot> read_snapshot(const Location& location, const CallOptions& call) {
  HEADRACE_TRY(ObjectInfo object, location.store->stat(location.key, call));
  Result<Snapshot> snapshot = read_table(location, object, call);
  if (!snapshot) return std::move(snapshot).error().in(location.describe());
  snapshot->object = std::move(object);
  return snapshot;
}

Result<std::vector<SnapshotRow>> parse_section(BytesView bytes, std::uint64_t row_count) {
  const Error damaged{Code::kDataLoss, "the snapshot's list of keys is damaged; take another snapshot"};
  if (bytes.size() < kChecksumBytes) return damaged;
  const BytesView content = bytes.first(bytes.size() - kChecksumBytes);
  if (crc32c(content) != load_little_endian<std::uint32_t>(content.data() + content.size())) return damaged;
  std::vector<SnapshotRow> rows;
  for (std::size_t position = 0; position < content.size();) {
    std::uint64_t size = 0;
    if (!read_varint(content, position, size) || size > content.size() - position ||
        content.size() - position - size < sizeof(std::uint64_t))
      return damaged;
    rows.push_back({content.subspan(position, size),
                    load_little_endian<std::uint64_t>(content.data() + position + size)});
    position += size + sizeof(std::uint64_t);
  }
  if (rows.size() != row_count) return damaged;
  return rows;
}

std::uint64_t fingerprint_of(BytesView value) { return crc32c(value) | std::uint64_t{value.size()} << 32; }

void GatheredRows::add(const SnapshotRow& row, std::uint64_t room_bytes) {
  rows_.push_back({.hash = siphash(HashKey{}, row.key),
                   .fingerprint = row.fingerprint,
                   .room_bytes = room_bytes,
                   .key_offset = keys_.size(),
                   .key_bytes = static_cast<std::uint32_t>(row.key.size())});
  append(keys_, row.key);
}

Result<SnapshotWriter> SnapshotWriter::create(const Location& target, const CallOptions& call) {
  HEADRACE_TRY(std::unique_ptr<Upload> upload,
               target.store->start_upload(target.key, {.only_if_absent = true, .call = call}));
  SnapshotWriter writer(std::move(upload));
  HEADRACE_CHECK(writer.write(as_bytes(kMagic)));
  return writer;
}

Status SnapshotWriter::write(BytesView bytes) {
  append(buffer_, bytes);
  written_bytes_ += bytes.size();
  return buffer_.size() < kPieceOfUpload ? Status{} : flush();
}

Status SnapshotWriter::flush() {
  Status status = upload_->append(buffer_);
  buffer_.clear();
  return status;
}

Status SnapshotWriter::add_partition(std::int32_t partition, GatheredRows rows) {
  std::ranges::sort(rows.rows_, [&](const GatheredRows::Row& a, const GatheredRows::Row& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return std::ranges::lexicographical_compare(rows.key(a), rows.key(b));
  });
  Bytes content;
  SnapshotSection section{.partition = partition};
  const auto end_section = [&]() -> Status {
    const Bytes digest = sha256(content);
    std::ranges::copy(digest, section.digest.begin());
    append_little_endian(content, crc32c(content));
    section.offset_bytes = written_bytes_;
    section.size_bytes = content.size();
    HEADRACE_CHECK(write(content));
    sections_.push_back(section);
    content.clear();
    section = {.partition = partition};
    return {};
  };
  for (const GatheredRows::Row& row : rows.rows_) {
    append_varint(content, row.key_bytes);
    append(content, rows.key(row));
    append_little_endian(content, row.fingerprint);
    ++section.row_count;
    ++row_count_;
    section.room_bytes += row.room_bytes;
    if (section.room_bytes >= kBlockBytes) HEADRACE_CHECK(end_section());
  }
  return section.row_count > 0 ? end_section() : Status{};
}

Status SnapshotWriter::commit(const SnapshotDescription& description) {
  std::ranges::stable_sort(sections_, {}, &SnapshotSection::partition);
  const std::string json = description_json(description);
  Bytes table = to_bytes(json);
  for (const SnapshotSection& section : sections_) append_entry(section, table);
  const std::uint32_t checksum = crc32c(table);
  append_little_endian(table, std::uint64_t{json.size()});
  append_little_endian(table, std::uint64_t{sections_.size()});
  append_little_endian(table, checksum);
  append_little_endian(table, kVersion);
  append(table, as_bytes(kMagic));
  HEADRACE_CHECK(write(table));
  HEADRACE_CHECK(flush());
  HEADRACE_CHECK(upload_->commit());
  return {};
}

}  // namespace headrace::ignite
