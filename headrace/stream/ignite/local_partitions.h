#pragma once

/// \file Which partitions of a cache a node owns.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {

/// The partitions whose owner is the node at the first of the cluster's given addresses.
/// \error kNotFound            there is no such cache
/// \error kInvalidArgument     the cache is not partitioned
/// \error kUnavailable         that node does not answer
/// \error kFailedPrecondition  it owns none
Result<std::vector<std::int32_t>> partitions_of_first_node(const Cache& cache, const std::stop_token& stop);

}  // namespace headrace::ignite
