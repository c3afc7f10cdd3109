#include "headrace/events/blob_key.h"

#include <algorithm>

#include "headrace/base/wire.h"

namespace headrace {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kSealBytes = 8;

enum Field : std::uint32_t { kObject = 1, kOffset = 2, kLength = 3, kChecksum = 4, kLiteral = 5 };

// Encodes as in RFC 4648, section 5, without padding.
std::string to_base64url(BytesView data) {
  std::string out;
  std::uint32_t bits = 0, held = 0;
  for (const std::byte byte : data) {
    bits = bits << 8 | std::to_integer<std::uint32_t>(byte);
    for (held += 8; held >= 6; held -= 6) out += kDigits[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kDigits[bits << (6 - held) & 63];
  return out;
}

// Returns nothing if a character is invalid; the seal then does not match.
Bytes from_base64url(std::string_view text) {
  Bytes out;
  std::uint32_t bits = 0, held = 0;
  for (const char character : text) {
    const std::size_t digit = kDigits.find(character);
    if (digit == std::string_view::npos) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<std::byte>(bits >> held & 255));
  }
  return out;
}

}  // namespace

std::string write_blob_key(const HashKey& secret, std::string_view object_key, const BlobReference& blob) {
  Bytes content;
  WireWriter out(content);
  if (blob.literal.empty()) out.text(kObject, object_key);
  out.varint(kOffset, blob.offset_bytes);
  out.varint(kLength, blob.length_bytes);
  out.varint(kChecksum, blob.crc32c);
  if (!blob.literal.empty()) out.text(kLiteral, blob.literal);
  append_little_endian(content, siphash(secret, content));
  return to_base64url(content);
}

Result<BlobPlace> read_blob_key(const HashKey& secret, std::string_view key) {
  const Error unknown{Code::kNotFound, "no blob of this server has this key; ask for the blobs again"};
  const Bytes bytes = from_base64url(key);
  if (bytes.size() < kSealBytes) return unknown;
  const BytesView content = BytesView(bytes).first(bytes.size() - kSealBytes);
  if (load_little_endian<std::uint64_t>(content.data() + content.size()) != siphash(secret, content)) {
    return unknown;
  }
  BlobPlace place;
  WireReader reader(content);
  for (WireField field; reader.next(field);) {
    if (field.number == kObject) place.object_key = field.as_text();
    if (field.number == kOffset) place.blob.offset_bytes = field.value;
    if (field.number == kLength) place.blob.length_bytes = field.value;
    if (field.number == kChecksum) place.blob.crc32c = static_cast<std::uint32_t>(field.value);
    if (field.number == kLiteral) place.blob.literal = field.as_text();
  }
  return place;
}

}  // namespace headrace
