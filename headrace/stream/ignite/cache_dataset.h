#pragma once

/// \file Opens a cache of Ignite as a dataset: docs/decisions/ignite-loader.md.
///
///   const auto rows = std::make_shared<const CacheRows>(cluster, "IMAGES");
///   HEADRACE_TRY(const auto dataset, open_cache_dataset(rows, {}, {}));
///   HEADRACE_TRY(const auto loader, BatchLoader::create({{.dataset = dataset}}, {.columns = columns}));

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "headrace/stream/dataset.h"
#include "headrace/stream/ignite/cache_rows.h"

namespace headrace::ignite {

struct CacheDatasetOptions {
  /// The partitions to read; empty: all.
  std::vector<std::int32_t> partitions{};
  /// The object that holds the snapshot. If there is none, a snapshot is taken and written there. None: a
  /// snapshot is taken and kept in memory.
  std::optional<Location> snapshot{};
  /// Bounds the memory for the keys of the partitions that are being scanned. If the snapshot is kept in
  /// memory, bounds the whole snapshot.
  std::uint64_t memory_limit_bytes = 256 << 20;
  /// True: a row whose value has changed since the snapshot is read with its new value. False: it is a hole.
  bool take_changed = false;
};

/// Opens the rows of a snapshot as a dataset. The dataset's attributes have the features that the rows had
/// when the snapshot was taken. If there is no snapshot, first takes one: scans the cache, and blocks until
/// the scan ends.
/// \error kNotFound            there is no such cache
/// \error kInvalidArgument     the cache does not have one of the partitions
/// \error kFailedPrecondition  the stored snapshot is of another cache, or lacks partitions
/// \error kResourceExhausted   the snapshot needs more than the memory limit; the message says what to do
/// \error                      as for `Scan` and `read_snapshot`
Result<std::shared_ptr<const Dataset>> open_cache_dataset(std::shared_ptr<const CacheRows> rows,
                                                          const CacheDatasetOptions& options,
                                                          const CallOptions& call);

}  // namespace headrace::ignite
