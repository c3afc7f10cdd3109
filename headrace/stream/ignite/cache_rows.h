#pragma once

/// \file Reads rows of a cache as records: holds what decoding them needs, and defines the kind of shards
/// that they make.

#include <memory>
#include <string>
#include <vector>

#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/cache.h"
#include "headrace/store/location.h"
#include "headrace/stream/block_reader.h"

namespace headrace::ignite {

/// A cache whose rows are read. Thread-safe. Immutable, except that it remembers types of objects.
struct CacheRows {
  CacheRows(std::shared_ptr<Cluster> cluster, const std::string& name);
  /// The place of a row for people: "ignite://host:port/CACHE, partition 7"; without the partition if it is
  /// -1.
  std::string describe(std::int32_t partition) const;

  Cache cache;
  std::shared_ptr<BinaryTypes> types;
  std::string url;  // "ignite://host:port/CACHE"; for people
};

/// An encoded key as text for people: its number or text, or otherwise the beginning of its bytes.
std::string key_text(BytesView key);

/// The kind of shards that are partitions of a cache. A shard's `place` is its partition. A block's
/// `stored_offset` and `stored_bytes` are a section in this version of a snapshot. These rows are holes: a
/// row that was removed, a row whose value has changed (unless `take_changed`), and a row that cannot be
/// decoded. Fields without a form are left out.
std::shared_ptr<const ShardKind> snapshot_shards(std::shared_ptr<const CacheRows> rows,
                                                 const Location& snapshot, Version version,
                                                 bool take_changed);

}  // namespace headrace::ignite
