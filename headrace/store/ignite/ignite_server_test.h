#pragma once

/// \file For tests: a store on the cluster that HEADRACE_IGNITE_ADDRESSES names.

#include <memory>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_store.h"

namespace headrace {

IgniteOptions test_cluster_options();
/// The caches of the store for tests. Creates them if they do not exist.
IgniteCaches test_caches(const IgniteOptions& options = test_cluster_options());
/// Empties that store and returns it. REQUIRES: no other test uses it.
std::unique_ptr<Store> open_empty_ignite_store(IgniteOptions options = test_cluster_options());

}  // namespace headrace
