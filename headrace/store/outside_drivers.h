#pragma once

/// \file Drivers from outside this tree: the folders that HEADRACE_DRIVERS names in the build.

#include <span>

#include "headrace/store/driver.h"

namespace headrace {

/// Empty, unless the program links a list that the build generated (headrace_outside_drivers in
/// cmake/Headrace.cmake).
std::span<const StoreDriver* const> outside_drivers();

}  // namespace headrace
