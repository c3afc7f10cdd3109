#pragma once

/// \file ignite://host:port/name/key and igfs:///key: what the registry knows of them.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kIgniteDriver;
extern const StoreDriver kIgfsDriver;

}  // namespace headrace
