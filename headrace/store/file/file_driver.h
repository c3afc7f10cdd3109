#pragma once

/// \file The registry's entry for file:///folder/key and plain paths on this machine.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kFileDriver;

}  // namespace headrace
