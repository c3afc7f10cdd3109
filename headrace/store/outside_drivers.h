#pragma once

/// \file Drivers from outside this tree: those of the folders in the build's HEADRACE_DRIVERS.

#include <span>

#include "headrace/store/driver.h"

namespace headrace {

/// None, unless the program links a list that the build made (headrace_outside_drivers in
/// cmake/Headrace.cmake).
std::span<const StoreDriver* const> outside_drivers();

}  // namespace headrace
