#pragma once

/// \file The chunks of objects: many are put, read or removed at once. Internal to the driver.

#include <optional>
#include <span>
#include <vector>

#include "headrace/net/ignite/cache_pipeline.h"
#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_entries.h"

namespace headrace {

/// Chunks of one call that are on their way; each takes up to a chunk's size of memory.
inline constexpr std::size_t kIgniteChunksAtOnce = 16;

/// A part of one chunk, and where it goes.
struct ChunkPiece {
  UploadId upload{};
  std::uint32_t index = 0;
  std::size_t content_bytes = 0;  // of the whole chunk
  std::size_t skipped_bytes = 0;  // before the part
  MutableBytesView target{};
};

/// Appends the pieces of the object's bytes from `offset` on that fill `target`.
/// REQUIRES: the head has chunks, and the range lies within the object
void append_pieces(const IgniteHead& head, std::uint64_t offset, MutableBytesView target,
                   std::vector<ChunkPiece>& pieces);

/// Fills the targets. Returns the number of the first piece whose chunk is not there; none: all are filled.
/// \error kDataLoss  a chunk is damaged
Result<std::optional<std::size_t>> fetch_pieces(const IgniteCaches& caches,
                                                std::span<const ChunkPiece> pieces);

/// Chunks from 0 to `count`; missing ones are not errors.
Status remove_chunks(const IgniteCaches& caches, const UploadId& upload, std::uint32_t count);

}  // namespace headrace
