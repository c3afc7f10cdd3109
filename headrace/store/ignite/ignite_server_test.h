#pragma once

/// \file A store on the cluster that HEADRACE_IGNITE_ADDRESSES names, for tests.

#include <memory>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_store.h"

namespace headrace {

IgniteOptions test_cluster_options();
/// The caches of the store for tests; they are created if need be.
IgniteCaches test_caches(const IgniteOptions& options = test_cluster_options());
/// That store, empty. REQUIRES: no other test uses it
std::unique_ptr<Store> open_empty_ignite_store(IgniteOptions options = test_cluster_options());

}  // namespace headrace
