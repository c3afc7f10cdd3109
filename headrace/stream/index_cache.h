#pragma once

/// \file Keeps the indexes of foreign files, so that each file is scanned only once: `<folder>/<digest of
/// URL, size and version>.index`; and beside it the notes about the file for people, if there are any:
/// `….notes`, UTF-8, one per line.

#include <optional>

#include "headrace/record/index.h"
#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// Limit for everything that is kept; the oldest objects are removed first.
inline constexpr std::uint64_t kIndexCacheBytes = 1 << 30;

/// The shard that the kept index describes, with its notes. None if there is no kept index, or it is
/// unusable.
std::optional<ForeignShard> find_kept_index(const Location& folder, const ForeignObject& object,
                                            const CallOptions& call);

/// Keeps a shard's index and notes, unless the index is larger than 64 MiB. Failure is not an error: the
/// index is then made again next time. REQUIRES: the shard has no remarks, which would be lost
void keep_index(const Location& folder, const ForeignObject& object, const ForeignShard& shard,
                const CallOptions& call);

/// If everything that `keep_index` has written is larger than `most_bytes`, removes the oldest until a fifth
/// of that is free. Other objects of the folder are not touched.
void prune_indexes(const Location& folder, std::uint64_t most_bytes, const CallOptions& call);

}  // namespace headrace
