#pragma once

/// \file Checks for `headrace doctor`. Internal to the driver.

#include "headrace/store/examine.h"
#include "headrace/store/ignite/ignite_options.h"

namespace headrace {

/// Connects to the cluster, checks the two caches, and reports each finding. Returns false if the store
/// cannot be used.
bool examine_ignite(const IgnitePlace& place, const CallOptions& call, const Report& report);

}  // namespace headrace
