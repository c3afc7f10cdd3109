#pragma once

/// \file The indexes of foreign files, kept so that each file is passed over once: `<folder>/<digest of URL,
/// size and version>.index`; and beside it, if there are any, what people are told of the file: `….notes`,
/// UTF-8, one a line.

#include <optional>

#include "headrace/record/index.h"
#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// All that is kept together; the oldest go first.
inline constexpr std::uint64_t kIndexCacheBytes = 1 << 30;

/// The shard that the kept index describes, with its notes. None if it is not kept, or of no use.
std::optional<ForeignShard> find_kept_index(const Location& folder, const ForeignObject& object,
                                            const CallOptions& call);

/// Keeps a shard's index and notes; one of over 64 MiB is not. Whoever cannot keep it makes it again, so
/// failure is none. REQUIRES: the shard has no remarks, which would be lost
void keep_index(const Location& folder, const ForeignObject& object, const ForeignShard& shard,
                const CallOptions& call);

/// Removes the oldest of what `keep_index` has written, if all of it is more than `most_bytes`, until a fifth
/// of that is free. Other objects of the folder are not touched.
void prune_indexes(const Location& folder, std::uint64_t most_bytes, const CallOptions& call);

}  // namespace headrace
