#pragma once

/// \file Partitions of a cache: which a node owns, and values of keys that lie in one.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {

/// Rows inside the response that brought them.
struct PartitionRows {
  Response response;
  std::vector<Entry> rows;
};

/// Those of the keys that are there, in any order: one request to the owner of the partition (-1: of a cache
/// that is not partitioned), or to another node while that one is away.
/// \error as Cluster::call
Result<PartitionRows> get_partition_rows(const Cache& cache, std::int32_t partition,
                                         const std::vector<BytesView>& keys, const std::stop_token& stop);

/// The partitions whose owner is the node at the first of the cluster's given addresses.
/// \error kNotFound            there is no such cache
/// \error kInvalidArgument     the cache is not partitioned
/// \error kUnavailable         that node does not answer
/// \error kFailedPrecondition  it owns none
Result<std::vector<std::int32_t>> partitions_of_first_node(const Cache& cache, const std::stop_token& stop);

}  // namespace headrace::ignite
