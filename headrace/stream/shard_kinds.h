#pragma once

/// \file The kinds of shards that are objects in a store.

#include "headrace/stream/block_reader.h"

namespace headrace {

/// TFRecord files, compressed or not. Readers check both checksums of every record.
std::shared_ptr<const ShardKind> record_shards();
/// WebDataset tars. Each sample becomes a record.
std::shared_ptr<const ShardKind> tar_shards();

/// The kind of a shard with this encoding.
inline std::shared_ptr<const ShardKind> shard_kind(ShardEncoding encoding) {
  return encoding == ShardEncoding::kTar ? tar_shards() : record_shards();
}

}  // namespace headrace
