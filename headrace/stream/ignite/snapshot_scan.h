#pragma once

/// \file Takes a snapshot of a cache: one scan of its rows.

#include <cstdint>
#include <vector>

#include "headrace/stream/ignite/cache_rows.h"

namespace headrace::ignite {

struct SnapshotScanOptions {
  std::vector<std::int32_t> partitions{};  // empty: all
  /// Bounds the keys of partitions that are being scanned; all keys, if the target lies in memory.
  std::uint64_t memory_limit_bytes = 256 << 20;
  bool is_in_memory = false;
};

/// Scans the rows, and writes what docs/formats/ignite-snapshot.md says. Rows that are put or removed
/// meanwhile may or may not be in it.
/// \error kAlreadyExists      a snapshot is there, perhaps since a moment ago; this one is dropped
/// \error kResourceExhausted  the memory limit
/// \error                     of Scan, of decode_object, and of the store
Status take_snapshot(const CacheRows& rows, const SnapshotScanOptions& options, const Location& target,
                     const CallOptions& call);

}  // namespace headrace::ignite
