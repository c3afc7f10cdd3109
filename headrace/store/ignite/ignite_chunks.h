#pragma once

/// \file The chunks of objects. Many are put, read or removed at once. Internal to the driver.

#include <optional>
#include <span>
#include <vector>

#include "headrace/net/ignite/cache_pipeline.h"
#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_entries.h"

namespace headrace {

/// How many chunks of one call are in flight. Each takes up to the size of a chunk in memory.
inline constexpr std::size_t kIgniteChunksAtOnce = 16;

/// A part of one chunk, and the memory that it is copied to.
struct ChunkPiece {
  UploadId upload{};
  std::uint32_t index = 0;
  std::size_t content_bytes = 0;  // of the whole chunk
  std::size_t skipped_bytes = 0;  // before the part
  MutableBytesView target{};
};

/// Appends to `pieces` the parts of chunks that fill `target` with the object's bytes from `offset` on.
/// REQUIRES: the head has chunks, and the range lies within the object.
void append_pieces(const IgniteHead& head, std::uint64_t offset, MutableBytesView target,
                   std::vector<ChunkPiece>& pieces);

/// Fills the targets. Returns the index of the first piece whose chunk does not exist. None: all targets are
/// filled.
/// \error kDataLoss  a chunk is damaged
Result<std::optional<std::size_t>> fetch_pieces(const IgniteCaches& caches,
                                                std::span<const ChunkPiece> pieces);

/// Removes the chunks 0 … `count` - 1. Missing chunks are not errors.
Status remove_chunks(const IgniteCaches& caches, const UploadId& upload, std::uint32_t count);

}  // namespace headrace
