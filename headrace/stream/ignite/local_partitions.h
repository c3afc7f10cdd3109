#pragma once

/// \file Finds the partitions of a cache that a node owns.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {

/// The partitions that the node at the first of the cluster's configured addresses owns, ascending. Sends
/// requests to the cluster.
/// \error kNotFound            there is no such cache
/// \error kInvalidArgument     the cache is not partitioned
/// \error kUnavailable         that node does not answer
/// \error kFailedPrecondition  that node owns no partition of the cache
Result<std::vector<std::int32_t>> partitions_of_first_node(const Cache& cache, const std::stop_token& stop);

}  // namespace headrace::ignite
