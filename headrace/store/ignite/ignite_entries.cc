#include "headrace/store/ignite/ignite_entries.h"

#include <algorithm>
#include <limits>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/message.h"

namespace headrace {
namespace {

using ignite::ObjectCursor;

constexpr std::string_view kHeadMagic = "HRih", kNoteMagic = "HRin";
constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kHeadBytes = 48, kNoteBytes = 56, kChecksumBytes = 4;
constexpr std::uint32_t kMostChunkBytes = 256 << 20;

Bytes begin_entry(std::string_view magic, bool flag) {
  Bytes out = to_bytes(magic);
  append_little_endian(out, kFormat);
  append_little_endian(out, static_cast<std::uint8_t>(flag));
  append_little_endian(out, std::uint16_t{0});
  return out;
}

Bytes sealed(Bytes content) {
  append_little_endian(content, crc32c(content));
  return ignite::encode_bytes(content);
}

void append_upload(Bytes& out, const UploadId& upload) {
  append_little_endian(out, upload.high);
  append_little_endian(out, upload.low);
}

bool read_upload(ObjectCursor& cursor, UploadId& upload) {
  return cursor.read(upload.high) && cursor.read(upload.low);
}

Error not_ours(std::string_view why) {
  return {Code::kDataLoss, concat("Headrace cannot read an entry of the cluster: ", why)};
}

// Checks the magic and the checksum, and returns the content between them; `flag` is set to its first byte.
Result<BytesView> opened(BytesView entry, std::string_view magic, std::size_t least_bytes, bool& flag) {
  const Result<BytesView> content = ignite::byte_array_content(entry);
  if (!content) return not_ours(content.error().message);
  if (content->size() < 5 || as_text(content->first(magic.size())) != magic)
    return not_ours("another program wrote it; use another name for the store");
  if ((*content)[4] != std::byte{kFormat})
    return Error{Code::kUnimplemented, concat("an entry has version ", static_cast<int>((*content)[4]),
                                              " of the format; a newer Headrace wrote it")};
  if (content->size() < least_bytes + kChecksumBytes) return not_ours("it is cut off");
  const BytesView checked = content->first(content->size() - kChecksumBytes);
  if (load_little_endian<std::uint32_t>(checked.data() + checked.size()) != crc32c(checked))
    return not_ours("its checksum is wrong");
  flag = checked[5] == std::byte{1};
  return checked.subspan(8);
}

}  // namespace

UploadId UploadId::make() {
  UploadId id;
  while (id.is_none()) id = {random_name_bits(), static_cast<std::uint32_t>(random_name_bits())};
  return id;
}

std::string UploadId::text() const { return concat(hex64(high), hex32(low)); }

std::optional<UploadId> UploadId::parse(std::string_view text) {
  if (text.size() != 24 || text.find_first_not_of("0123456789abcdef") != text.npos) return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t digits) {
    std::uint64_t value = 0;
    for (const char digit : text.substr(from, digits))
      value = value << 4 | static_cast<std::uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    return value;
  };
  return UploadId{number(0, 16), static_cast<std::uint32_t>(number(16, 8))};
}

Bytes UploadId::chunk_key(std::uint32_t index) const {
  Bytes key;
  key.reserve(17);
  append_little_endian(key, ignite::TypeCode::kUuid);
  append_little_endian(key, high);
  append_little_endian(key, std::uint64_t{low} << 32 | index);
  return key;
}

std::uint32_t IgniteHead::chunks() const {
  if (chunk_bytes == 0) return 0;
  return static_cast<std::uint32_t>(size_bytes / chunk_bytes + (size_bytes % chunk_bytes != 0 ? 1 : 0));
}

ObjectInfo IgniteHead::info(std::string_view key) const {
  return {.key = std::string(key),
          .size_bytes = size_bytes,
          .version = {upload.text()},
          .modified = std::chrono::system_clock::time_point(std::chrono::milliseconds(modified_ms)),
          .crc32c = crc32c};
}

Bytes encode_head(const IgniteHead& head) {
  Bytes out = begin_entry(kHeadMagic, !head.is_claim);
  append_little_endian(out, head.fence);
  append_little_endian(out, head.chunk_bytes);
  append_upload(out, head.upload);
  append_little_endian(out, head.crc32c);
  append_little_endian(out, head.size_bytes);
  append_little_endian(out, head.modified_ms);
  append(out, head.content);
  return sealed(std::move(out));
}

Result<IgniteHead> decode_head(BytesView entry) {
  bool is_object = false;
  HEADRACE_TRY(const BytesView content, opened(entry, kHeadMagic, kHeadBytes, is_object));
  ObjectCursor cursor(content);
  IgniteHead head{.is_claim = !is_object};
  cursor.read(head.fence);
  cursor.read(head.chunk_bytes);
  read_upload(cursor, head.upload);
  cursor.read(head.crc32c);
  cursor.read(head.size_bytes);
  cursor.read(head.modified_ms);
  head.content = content.subspan(cursor.position());
  if (is_object && head.chunk_bytes == 0 && head.content.size() != head.size_bytes)
    return not_ours("the content of a head does not have the size that the head states");
  if (head.chunk_bytes != 0 &&
      (!head.content.empty() || head.chunk_bytes < kIgniteInlineBytes || head.chunk_bytes > kMostChunkBytes ||
       head.size_bytes / head.chunk_bytes >= std::numeric_limits<std::uint32_t>::max()))
    return not_ours("a head with impossible sizes");
  return head;
}

Bytes encode_note(const IgniteNote& note) {
  Bytes out = begin_entry(kNoteMagic, note.is_condemned);
  append_little_endian(out, note.attempts);
  append_little_endian(out, note.chunks);
  append_upload(out, note.upload);
  append_upload(out, note.replaced);
  append_little_endian(out, note.replaced_chunks);
  append_little_endian(out, note.chunk_bytes);
  append_little_endian(out, note.modified_ms);
  append(out, as_bytes(note.key));
  return sealed(std::move(out));
}

Result<IgniteNote> decode_note(BytesView entry) {
  IgniteNote note;
  HEADRACE_TRY(const BytesView content, opened(entry, kNoteMagic, kNoteBytes, note.is_condemned));
  ObjectCursor cursor(content);
  cursor.read(note.attempts);
  cursor.read(note.chunks);
  read_upload(cursor, note.upload);
  read_upload(cursor, note.replaced);
  cursor.read(note.replaced_chunks);
  cursor.read(note.chunk_bytes);
  cursor.read(note.modified_ms);
  note.key = to_string(content.subspan(cursor.position()));
  return note;
}

Bytes chunk_prefix(std::size_t content_bytes) {
  Bytes prefix;
  append_little_endian(prefix, ignite::TypeCode::kByteArray);
  append_little_endian(prefix, static_cast<std::int32_t>(content_bytes + kChecksumBytes));
  return prefix;
}

Result<BytesView> chunk_content(BytesView entry, std::size_t content_bytes) {
  const Result<BytesView> value = ignite::byte_array_content(entry);
  if (!value || value->size() != content_bytes + kChecksumBytes)
    return Error{Code::kDataLoss, "a chunk does not have the size that its head states"};
  const BytesView content = value->first(content_bytes);
  if (load_little_endian<std::uint32_t>(value->data() + content_bytes) != crc32c(content))
    return Error{Code::kDataLoss, "the checksum of a chunk is wrong"};
  return content;
}

std::optional<std::string_view> object_key(BytesView encoded) {
  ObjectCursor cursor(encoded);
  std::string_view name;
  if (cursor.take_name(name)) return name;
  return std::nullopt;
}

}  // namespace headrace
