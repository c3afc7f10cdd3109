#pragma once

/// \file A plan in a store, for any number of processes that execute it.

#include "headrace/prepare/plan/plan.h"
#include "headrace/store/location.h"

namespace headrace {

/// Makes the output the plan's own (see claim_output), and leaves there what the others need.
/// \error kFailedPrecondition  another plan was begun there, and not `overwrite`
Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite);

/// Of a plan that appends: whether the latest version of the data set was appended from the very same input,
/// so that nothing is new.
Result<bool> was_appended(const Location& output, const PreparePlan& plan);

/// Whether this process may work at a plan that continues beside others.
/// \error kFailedPrecondition  another plan that continues the same version was begun: names the differences
Status check_continuation(const Location& output, const PreparePlan& plan);

/// Of one that is published, without slices: there is nothing left to be done.
/// \error kNotFound  no plan was shared there
/// \error kDataLoss, kFailedPrecondition  see parse_plan
Result<PreparePlan> read_shared_plan(const Location& output);

}  // namespace headrace
