#pragma once

/// \file The entries that the store keeps in its two caches: heads, claims, notes, and the keys of chunks.
/// Pure functions between bytes and values. docs/formats/ignite-store.md has the layout. Internal to the
/// driver.

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

inline constexpr std::size_t kIgniteChunkBytes = std::size_t{1} << 20;
/// Larger objects are stored in chunks.
inline constexpr std::size_t kIgniteInlineBytes = 4'096;
/// Bytes of a chunk's entry in addition to its content: type, length, CRC32C.
inline constexpr std::size_t kIgniteChunkOverhead = 9;

/// Identifies one write. Never reused.
struct UploadId {
  std::uint64_t high = 0;
  std::uint32_t low = 0;
  auto operator<=>(const UploadId&) const = default;

  static UploadId make();
  bool is_none() const { return high == 0 && low == 0; }
  /// 24 hexadecimal digits.
  std::string text() const;
  /// The inverse of `text`. None if the text has another form.
  static std::optional<UploadId> parse(std::string_view text);
  /// The encoded key of a chunk. The key of chunk 0 is also the key of the upload's note.
  Bytes chunk_key(std::uint32_t index) const;
};

/// An object, or a claim, which says that an upload is about to create an object.
struct IgniteHead {
  bool is_claim = false;
  std::uint32_t fence = 0;
  std::uint32_t chunk_bytes = 0;  // 0: `content` is the whole object
  UploadId upload{};
  std::uint32_t crc32c = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ms = 0;
  BytesView content{};

  std::uint32_t chunks() const;
  ObjectInfo info(std::string_view key) const;
};

/// An upload that is under way or was abandoned.
struct IgniteNote {
  bool is_condemned = false;
  std::uint32_t attempts = 0;
  std::uint32_t chunks = 0;
  UploadId upload{};
  UploadId replaced{};
  std::uint32_t replaced_chunks = 0;
  std::uint32_t chunk_bytes = 0;
  std::int64_t modified_ms = 0;
  std::string key{};
};

/// Encode entries as the caches hold them: as binary objects.
Bytes encode_head(const IgniteHead& head);
Bytes encode_note(const IgniteNote& note);

/// Decode and check entries. `content` of the head views `entry`.
/// \error kDataLoss       `entry` is another kind of entry, or damaged
/// \error kUnimplemented  `entry` has a newer version of the format
Result<IgniteHead> decode_head(BytesView entry);
Result<IgniteNote> decode_note(BytesView entry);

/// The bytes that stand before the content in the entry of a chunk with that many bytes of content.
Bytes chunk_prefix(std::size_t content_bytes);
/// Checks the entry of a chunk, and returns its content, which views `entry`.
/// \error kDataLoss  the size or the checksum is wrong
Result<BytesView> chunk_content(BytesView entry, std::size_t content_bytes);

/// The object's key in an encoded key from the cache of heads. None if it is the key of a note.
std::optional<std::string_view> object_key(BytesView encoded);

}  // namespace headrace
