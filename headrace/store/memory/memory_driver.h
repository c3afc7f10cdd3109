#pragma once

/// \file The registry's entry for memory://name/key.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kMemoryDriver;

}  // namespace headrace
