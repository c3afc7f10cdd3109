#pragma once

/// \file Looks at what learning curves have left below memory://out/x.

#include <string>
#include <vector>

#include "tests/interleave/observe.h"
#include "tests/interleave/world.h"

namespace headrace::interleave {

/// Adds each score, and the complete reports without what differs between equal ones: their runs and seconds.
void see_curves(const World& world, Seen& seen);

/// Describes all that is wrong; empty: each score is whole and where its configuration says; each report has
/// its page if it has its document, and its table if it has its page; and a report's table has a row
/// for each size and says what the scores say, unless some were removed.
void check_curves(const World& world, std::vector<std::string>& damage);

}  // namespace headrace::interleave
