#include "headrace/record/index.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic("HRINDEX\0", 8);
constexpr std::uint32_t kIndexVersion = 1;
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kChecksumBytes = 4;
// Far larger than any shard. Keeps sums from wrapping around.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

Error damaged(std::string_view what) { return {Code::kDataLoss, concat("shard index: ", what)}; }

// Adds `bytes`. Returns false if the sum would exceed kMaxBytes.
bool advance(std::uint64_t& sum, std::uint64_t bytes) {
  if (bytes > kMaxBytes - sum) return false;
  sum += bytes;
  return true;
}

// A cursor in the section of members or of records.
struct Cursor {
  BytesView data;
  std::size_t position;
  bool next(std::uint64_t& value) { return read_varint(data, position, value); }
  std::uint64_t remaining() const { return data.size() - position; }
};

Status check_header(BytesView data) {
  if (data.size() < kHeaderBytes + kChecksumBytes) return damaged("cut short");
  if (as_text(data.first(kMagic.size())) != kMagic) return damaged("does not begin with its magic bytes");
  const auto version = load_little_endian<std::uint32_t>(data.data() + 8);
  if (version > kIndexVersion) {
    return Error{Code::kUnimplemented,
                 concat("shard index: version ", version, ", but this Headrace reads up to ", kIndexVersion,
                        "; use a newer Headrace, or delete the index")};
  }
  const std::size_t end = data.size() - kChecksumBytes;
  if (load_little_endian<std::uint32_t>(data.data() + end) != crc32c(data.first(end)))
    return damaged("wrong checksum");
  if (load_little_endian<std::uint32_t>(data.data() + 12) > 3) return damaged("unknown encoding");
  return {};
}

Status read_members(Cursor& cursor, std::uint64_t count, std::vector<ShardMember>& members) {
  if (count > cursor.remaining() / 2) return damaged("more members than bytes");
  members.reserve(count);
  ShardMember next;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t compressed_end = next.compressed_offset, uncompressed_end = next.uncompressed_offset;
    if (!cursor.next(next.compressed_bytes) || !cursor.next(next.uncompressed_bytes) ||
        !advance(compressed_end, next.compressed_bytes) ||
        !advance(uncompressed_end, next.uncompressed_bytes)) {
      return damaged("malformed member");
    }
    members.push_back(next);
    next.compressed_offset = compressed_end;
    next.uncompressed_offset = uncompressed_end;
  }
  return {};
}

Status read_records(Cursor& cursor, std::uint64_t count, std::vector<std::uint64_t>& offsets) {
  if (count > cursor.remaining()) return damaged("more records than bytes");
  offsets.reserve(count + 1);
  std::uint64_t end = 0, data_bytes = 0, step = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!cursor.next(step)) return damaged("malformed record size");
    data_bytes += static_cast<std::uint64_t>(unzigzag(step));  // may wrap around; then the sum is too large
    if (data_bytes > kMaxBytes || !advance(end, data_bytes + kRecordFramingBytes))
      return damaged("impossible record size");
    offsets.push_back(end);
  }
  return cursor.remaining() == 0 ? Status() : damaged("bytes after the last record");
}

}  // namespace

// Checks that the members and records make up the shard, and assigns to each member the records that begin in
// it.
Status ShardIndex::complete() {
  const ShardMember last = members_.empty() ? ShardMember{} : members_.back();
  const std::uint64_t held = last.uncompressed_offset + last.uncompressed_bytes;
  const std::uint64_t stored = last.compressed_offset + last.compressed_bytes;
  if (is_compressed(encoding_) ? held != stream_bytes() || stored > shard_bytes_
                               : !members_.empty() || stream_bytes() != shard_bytes_) {
    return Error{Code::kInvalidArgument,
                 concat("shard index: ", members_.size(), " members of ", stored, " bytes, ", held,
                        " uncompressed, do not make up a shard of ", shard_bytes_, " bytes with ",
                        stream_bytes(), " bytes of records")};
  }
  if (!is_compressed(encoding_) && stream_bytes() > 0) {
    members_ = {ShardMember{.compressed_bytes = stream_bytes(), .uncompressed_bytes = stream_bytes()}};
  }
  const auto first_from = [this](std::uint64_t offset) {
    const auto at = std::lower_bound(offsets_.begin(), offsets_.end() - 1, offset);
    return static_cast<std::uint64_t>(at - offsets_.begin());
  };
  for (ShardMember& member : members_) {
    member.first_record = first_from(member.uncompressed_offset);
    member.record_count =
        first_from(member.uncompressed_offset + member.uncompressed_bytes) - member.first_record;
    member.begins_with_record = offsets_[member.first_record] == member.uncompressed_offset;
  }
  return {};
}

void ShardIndexBuilder::add_record(std::uint64_t data_bytes) {
  index_.offsets_.push_back(index_.offsets_.back() + data_bytes + kRecordFramingBytes);
}

void ShardIndexBuilder::add_member(std::uint64_t compressed_bytes, std::uint64_t uncompressed_bytes) {
  ShardMember member{.compressed_bytes = compressed_bytes, .uncompressed_bytes = uncompressed_bytes};
  if (!index_.members_.empty()) {
    const ShardMember& before = index_.members_.back();
    member.compressed_offset = before.compressed_offset + before.compressed_bytes;
    member.uncompressed_offset = before.uncompressed_offset + before.uncompressed_bytes;
  }
  index_.members_.push_back(member);
}

Result<ShardIndex> ShardIndexBuilder::finish(std::uint64_t shard_bytes, std::uint32_t shard_crc32c) && {
  index_.shard_bytes_ = shard_bytes;
  index_.shard_crc32c_ = shard_crc32c;
  HEADRACE_CHECK(index_.complete());
  return std::move(index_);
}

Result<ShardIndex> ShardIndex::parse(BytesView data) {
  HEADRACE_CHECK(check_header(data));
  ShardIndex index;
  index.encoding_ = static_cast<ShardEncoding>(load_little_endian<std::uint32_t>(data.data() + 12));
  index.shard_bytes_ = load_little_endian<std::uint64_t>(data.data() + 16);
  index.shard_crc32c_ = load_little_endian<std::uint32_t>(data.data() + 24);
  Cursor cursor{data.first(data.size() - kChecksumBytes), kHeaderBytes};
  HEADRACE_CHECK(read_members(cursor, load_little_endian<std::uint32_t>(data.data() + 28), index.members_));
  HEADRACE_CHECK(read_records(cursor, load_little_endian<std::uint64_t>(data.data() + 32), index.offsets_));
  if (Status status = index.complete(); !status)
    return Error{Code::kDataLoss, std::move(status).error().message};
  return index;
}

Bytes ShardIndex::serialize() const {
  const bool compressed = is_compressed(encoding_);
  Bytes out(kHeaderBytes);
  std::copy(kMagic.begin(), kMagic.end(), reinterpret_cast<char*>(out.data()));
  store_little_endian(out.data() + 8, kIndexVersion);
  store_little_endian(out.data() + 12, static_cast<std::uint32_t>(encoding_));
  store_little_endian(out.data() + 16, shard_bytes_);
  store_little_endian(out.data() + 24, shard_crc32c_);
  store_little_endian(out.data() + 28, static_cast<std::uint32_t>(compressed ? members_.size() : 0));
  store_little_endian(out.data() + 32, record_count());
  for (std::size_t i = 0; compressed && i < members_.size(); ++i) {
    append_varint(out, members_[i].compressed_bytes);
    append_varint(out, members_[i].uncompressed_bytes);
  }
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < record_count(); ++i) {
    const std::uint64_t data_bytes = record_bytes(i) - kRecordFramingBytes;
    append_varint(out, zigzag(static_cast<std::int64_t>(data_bytes - before)));
    before = data_bytes;
  }
  append_little_endian(out, crc32c(out));
  return out;
}

std::vector<ShardBlock> ShardIndex::blocks() const {
  std::vector<ShardBlock> blocks;
  ShardBlock block;
  const auto close = [&] {
    if (block.record_count > 0) blocks.push_back(block);
    block = {};
  };
  if (!is_compressed(encoding_)) {
    for (std::uint64_t record = 0; record < record_count(); ++record) {
      ++block.record_count;
      block.stream_bytes = block.stored_bytes += record_bytes(record);
      if (block.stream_bytes >= kBlockBytes) close();
    }
    close();
    return blocks;
  }
  for (std::size_t m = 0; m < members_.size(); ++m) {
    block.record_count += members_[m].record_count;
    block.stored_bytes += members_[m].compressed_bytes;
    block.stream_bytes += members_[m].uncompressed_bytes;
    const bool next_begins_anew = m + 1 == members_.size() || members_[m + 1].begins_with_record;
    if (block.stream_bytes >= kBlockBytes && next_begins_anew && block.record_count > 0) close();
  }
  close();
  return blocks;
}

}  // namespace headrace
