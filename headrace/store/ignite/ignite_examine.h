#pragma once

/// \file Checks of `headrace doctor`. Internal to the driver.

#include "headrace/store/examine.h"
#include "headrace/store/ignite/ignite_options.h"

namespace headrace {

/// Connects, and looks at the two caches. False: the store cannot be used.
bool examine_ignite(const IgnitePlace& place, const CallOptions& call, const Report& report);

}  // namespace headrace
