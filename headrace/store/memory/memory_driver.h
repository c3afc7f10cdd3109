#pragma once

/// \file memory://name/key: what the registry knows of it.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kMemoryDriver;

}  // namespace headrace
