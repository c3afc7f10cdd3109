#pragma once

/// \file The registry's entries for ignite://host:port/name/key and igfs:///key.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kIgniteDriver;
extern const StoreDriver kIgfsDriver;

}  // namespace headrace
