#pragma once

/// \file The rows of a cache as rows of `prepare`, checked against the listing.

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/prepare/ignite/ignite_rows.h"
#include "headrace/prepare/ignite/partition_ranges.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Reads the rows of the partitions in `range`, one partition after another; they must be those that were
/// `listed`. Ids and cells: docs/formats/ignite-input.md. `columns`: the cells of a row; empty: all.
/// \error of `next`: kFailedPrecondition  the rows have changed since they were listed
/// \error of `next`: as Scan
std::unique_ptr<RowSource> make_ignite_cache_rows(std::shared_ptr<ignite::Cluster> cluster, std::string cache,
                                                  std::vector<std::string> columns,
                                                  const PartitionRange& range, ListedRows listed,
                                                  std::uint64_t cell_limit_bytes, std::stop_token stop);

}  // namespace headrace
