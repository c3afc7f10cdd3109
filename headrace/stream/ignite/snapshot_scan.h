#pragma once

/// \file Takes a snapshot of a cache with one scan of its rows.

#include <cstdint>
#include <vector>

#include "headrace/stream/ignite/cache_rows.h"

namespace headrace::ignite {

struct SnapshotScanOptions {
  std::vector<std::int32_t> partitions{};  // empty: all
  /// Bounds the memory for the keys of partitions that are being scanned; if the target is in memory, for all
  /// keys.
  std::uint64_t memory_limit_bytes = 256 << 20;
  bool is_in_memory = false;  // true if the target is a memory store
};

/// Scans the rows, and writes a snapshot (docs/formats/ignite-snapshot.md) to `target`. Rows that are put or
/// removed during the scan may or may not be in it. Blocks until the scan ends.
/// \error kAlreadyExists      there is a snapshot, perhaps since a moment ago; the new one is dropped
/// \error kResourceExhausted  the snapshot needs more than the memory limit
/// \error                     as for `Scan`, `decode_object` and the store
Status take_snapshot(const CacheRows& rows, const SnapshotScanOptions& options, const Location& target,
                     const CallOptions& call);

}  // namespace headrace::ignite
