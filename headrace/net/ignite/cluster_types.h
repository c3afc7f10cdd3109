#pragma once

/// \file The types of complex objects that a cluster knows.

#include <memory>
#include <stop_token>

#include "headrace/base/result.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

/// Returns a function that asks the cluster for a type (GET_BINARY_TYPE). A stop request ends its wait.
/// \error as for Cluster::call
BinaryTypes::Fetch fetch_from(std::shared_ptr<Cluster> cluster, std::stop_token stop = {});

/// Registers a type with the cluster (PUT_BINARY_TYPE). The cluster adds new fields and schemas to those that
/// it knows. To be called before an object of the type is put.
/// \error kUnknown  a field has another type in the cluster
/// \error           as for Cluster::call
Status register_type(Cluster& cluster, const BinaryType& type, const std::stop_token& stop = {});

}  // namespace headrace::ignite
