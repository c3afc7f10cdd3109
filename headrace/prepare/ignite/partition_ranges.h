#pragma once

/// \file Lists the rows of a cache as ranges of partitions: docs/decisions/ignite-cache.md.

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/net/ignite/cache.h"

namespace headrace {

/// Partitions `first` to `last`. If both are -1: the whole cache, which is not partitioned.
struct PartitionRange {
  std::int32_t first = -1;
  std::int32_t last = -1;
  std::uint64_t rows = 0;
  std::uint64_t size_bytes = 0;  // of keys and values, as encoded
  std::string digest{};          // PartitionsDigest
};

/// Digest over the number, size and content of the rows in consecutive partitions. Partitions without rows do
/// not matter. Not thread-safe.
class PartitionsDigest {
 public:
  /// `digest`: that of RowsDigest over the partition's rows, each a key and a value.
  void add(std::int32_t partition, std::uint64_t rows, std::string_view digest);
  /// SHA-256, hexadecimal; call once.
  std::string finish() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
};

/// Scans the cache once, and cuts its partitions into ranges of at least `range_bytes`; the last may be
/// smaller. Memory: pages of the scan, and some 200 bytes for each partition.
/// \error kNotFound         there is no such cache, or it has no rows
/// \error kInvalidArgument  the keys have several types
/// \error as Scan
Result<std::vector<PartitionRange>> list_partitions(const ignite::Cache& cache, std::uint64_t range_bytes,
                                                    const std::stop_token& stop);

/// Writes a range, without size and digest, as the `place` of a slice. Format: docs/formats/ignite-input.md.
std::string partitions_to_json(const PartitionRange& range);
/// Parses the result of partitions_to_json. \error kDataLoss  it has another form
Result<PartitionRange> parse_partition_range(std::string_view json);

}  // namespace headrace
