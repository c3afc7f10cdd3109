#pragma once

/// \file Rows of a cache as records: what decoding them takes, and the kind of shards that they make.

#include <memory>
#include <string>
#include <vector>

#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/cache.h"
#include "headrace/store/location.h"
#include "headrace/stream/block_reader.h"

namespace headrace::ignite {

/// A cache whose rows are read. Immutable, but for the types of objects that it remembers; thread-safe.
struct CacheRows {
  CacheRows(std::shared_ptr<Cluster> cluster, const std::string& name);
  /// "ignite://host:port/CACHE, partition 7"; without the partition if it is -1.
  std::string describe(std::int32_t partition) const;

  Cache cache;
  std::shared_ptr<BinaryTypes> types;
  std::string url;  // "ignite://host:port/CACHE"; for people
};

/// A key for people: its number or text, else the beginning of its bytes.
std::string key_text(BytesView key);

/// Shards that are partitions of a cache: `place` is the partition, and blocks are sections of this version
/// of a snapshot (`stored_offset`, `stored_bytes`). A row that is gone is a hole, and so is one whose value
/// has changed unless `take_changed`, and one that cannot be decoded. Fields without a form are no features.
std::shared_ptr<const ShardKind> snapshot_shards(std::shared_ptr<const CacheRows> rows,
                                                 const Location& snapshot, Version version,
                                                 bool take_changed);

}  // namespace headrace::ignite
