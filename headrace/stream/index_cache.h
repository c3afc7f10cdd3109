#pragma once

/// \file Keeps the indexes of foreign files, so that each file is scanned only once. An index is
/// `<folder>/<digest of URL, size and version>.index`. If there are notes about the file for people, they are
/// beside it: `….notes`, UTF-8, one per line.

#include <optional>

#include "headrace/record/index.h"
#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// Limit for all kept objects together, in bytes; the oldest are removed first.
inline constexpr std::uint64_t kIndexCacheBytes = 1 << 30;

/// The shard that the kept index describes, with its notes. None if there is no kept index, or if it cannot
/// be read or used.
std::optional<ForeignShard> find_kept_index(const Location& folder, const ForeignObject& object,
                                            const CallOptions& call);

/// Keeps a shard's index and notes, unless the index is larger than 64 MiB. A failure is ignored: the index
/// is then made again next time. REQUIRES: the shard has no remarks, because they would be lost.
void keep_index(const Location& folder, const ForeignObject& object, const ForeignShard& shard,
                const CallOptions& call);

/// If the objects that `keep_index` has written take more than `most_bytes`, removes the oldest of them until
/// they take at most four fifths of it. Does not touch other objects in the folder. Ignores failures.
void prune_indexes(const Location& folder, std::uint64_t most_bytes, const CallOptions& call);

}  // namespace headrace
