#include "headrace/store/ignite/ignite_chunks.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint32_t kRemovedAtOnce = 10'000;

}  // namespace

void append_pieces(const IgniteHead& head, std::uint64_t offset, MutableBytesView target,
                   std::vector<ChunkPiece>& pieces) {
  const std::uint64_t chunk_bytes = head.chunk_bytes;
  while (!target.empty()) {
    const std::uint64_t index = offset / chunk_bytes, start = index * chunk_bytes;
    const std::uint64_t content = std::min(chunk_bytes, head.size_bytes - start);
    const std::size_t count = std::min<std::uint64_t>(target.size(), start + content - offset);
    pieces.push_back({.upload = head.upload,
                      .index = static_cast<std::uint32_t>(index),
                      .content_bytes = content,
                      .skipped_bytes = offset - start,
                      .target = target.first(count)});
    target = target.subspan(count);
    offset += count;
  }
}

Result<std::optional<std::size_t>> fetch_pieces(const IgniteCaches& caches,
                                                std::span<const ChunkPiece> pieces) {
  ignite::CachePipeline pipeline(caches.chunks);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (; asked < pieces.size() && asked < i + kIgniteChunksAtOnce; ++asked)
      HEADRACE_CHECK(pipeline.get(pieces[asked].upload.chunk_key(pieces[asked].index), caches.stop));
    const ChunkPiece& piece = pieces[i];
    HEADRACE_TRY(const std::optional<ignite::StoredObject> entry, pipeline.receive_object(caches.stop));
    if (!entry) return std::optional(i);
    const Result<BytesView> content = chunk_content(entry->bytes, piece.content_bytes);
    if (!content) return content.error().in(concat("chunk ", piece.index));
    std::ranges::copy(content->subspan(piece.skipped_bytes, piece.target.size()), piece.target.begin());
  }
  return std::optional<std::size_t>();
}

Status remove_chunks(const IgniteCaches& caches, const UploadId& upload, std::uint32_t count) {
  for (std::uint64_t first = 0; first < count; first += kRemovedAtOnce) {
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(first + kRemovedAtOnce, count));
    std::vector<Bytes> keys;
    for (auto i = static_cast<std::uint32_t>(first); i < end; ++i) keys.push_back(upload.chunk_key(i));
    HEADRACE_CHECK(caches.chunks.remove_keys({keys.begin(), keys.end()}, caches.stop));
  }
  return {};
}

}  // namespace headrace
