#pragma once

/// \file file:///folder/key and paths of this machine: what the registry knows of them.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kFileDriver;

}  // namespace headrace
