#pragma once

/// \file A cache of Ignite as a dataset: docs/decisions/ignite-loader.md.
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
  /// Those to read; empty: all.
  std::vector<std::int32_t> partitions{};
  /// Where the snapshot lies; if nothing is there, one is taken and written there. None: one is taken, and
  /// kept in memory.
  std::optional<Location> snapshot{};
  /// Bounds the keys of the partitions that are being scanned; in memory, the whole snapshot.
  std::uint64_t memory_limit_bytes = 256 << 20;
  /// A row that has got another value since is read as it is now.
  bool take_changed = false;
};

/// The rows of a snapshot as a dataset, whose attributes have the features that the rows had.
/// \error kNotFound            there is no such cache
/// \error kInvalidArgument     a partition that the cache has not
/// \error kFailedPrecondition  the stored snapshot is of another cache, or lacks partitions
/// \error kResourceExhausted   the memory limit; the message says what to do
/// \error                      of Scan, and of read_snapshot
Result<std::shared_ptr<const Dataset>> open_cache_dataset(std::shared_ptr<const CacheRows> rows,
                                                          const CacheDatasetOptions& options,
                                                          const CallOptions& call);

}  // namespace headrace::ignite
