#pragma once

/// \file The types of complex objects that a cluster knows.

#include <memory>
#include <stop_token>

#include "headrace/base/result.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

/// Asks the cluster (GET_BINARY_TYPE) for each type once. A stop request ends a wait.
/// \error of Cluster::call
BinaryTypes::Fetch fetch_from(std::shared_ptr<Cluster> cluster, std::stop_token stop = {});

/// Tells the cluster of a type (PUT_BINARY_TYPE), which merges it with what it knows: new fields and schemas
/// are added. To be called before an object of the type is put.
/// \error kUnknown  a field has another type in the cluster; otherwise as Cluster::call
Status register_type(Cluster& cluster, const BinaryType& type, const std::stop_token& stop = {});

}  // namespace headrace::ignite
