#pragma once

/// \file Lists the rows of a cache as runs of partitions: docs/decisions/ignite-cache.md.

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/net/ignite/cache.h"

namespace headrace {

/// Partitions `first` to `last`; both -1: the cache as a whole, which is not partitioned.
struct PartitionRange {
  std::int32_t first = -1;
  std::int32_t last = -1;
  std::uint64_t rows = 0;
  std::uint64_t size_bytes = 0;  // of keys and values, as encoded
  std::string digest{};          // PartitionsDigest
};

/// Number, size and content of the rows of partitions that come one after another. Partitions without rows
/// do not matter. Not thread-safe.
class PartitionsDigest {
 public:
  /// `digest`: RowsDigest over the rows of the partition, each a key and a value.
  void add(std::int32_t partition, std::uint64_t rows, std::string_view digest);
  /// SHA-256, hexadecimal; call once.
  std::string finish() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
};

/// Scans the cache once, and cuts its partitions into runs of at least `range_bytes`, but for the last.
/// Memory: pages of the scan, and some 200 bytes for each partition.
/// \error kNotFound         no such cache, or no rows in it
/// \error kInvalidArgument  keys of several types
/// \error as Scan
Result<std::vector<PartitionRange>> list_partitions(const ignite::Cache& cache, std::uint64_t range_bytes,
                                                    const std::stop_token& stop);

/// The range as `place` of a slice, and back, without size and digest. docs/formats/ignite-input.md has the
/// format.
std::string partitions_to_json(const PartitionRange& range);
/// \error kDataLoss  it is not that
Result<PartitionRange> parse_partition_range(std::string_view json);

}  // namespace headrace
