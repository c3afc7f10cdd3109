#pragma once

/// \file A plan in a store, which any number of processes execute.

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/write/plan_claim.h"
#include "headrace/store/location.h"

namespace headrace {

/// Claims the output for the plan, or joins who has done so, and writes the slices there for the other
/// processes.
/// \error kFailedPrecondition  another plan was started there, and `overwrite` is not set
/// \error kAborted             the plan was published, or somebody else took the output, meanwhile
Result<OwnedOutput> share_plan(const PreparePlan& plan, const Location& output, bool overwrite,
                               const Actor& actor);

/// Whether the latest version of the dataset was already appended from the same input, so that nothing is
/// new. `plan` appends.
Result<bool> was_appended(const Location& output, const PreparePlan& plan);

/// Checks that this process may execute `plan`, which continues a dataset, beside others.
/// \error kFailedPrecondition  another plan that continues the same version was started: names the
///                             differences
Status check_continuation(const Location& output, const PreparePlan& plan);

struct SharedPlan {
  PreparePlan plan;
  OwnedOutput owned;
};

/// The plan that was shared at `output`. If it is published already, it comes without slices: no work is
/// left.
/// \error kNotFound  no plan was shared there
/// \error kDataLoss, kFailedPrecondition  see parse_plan
Result<SharedPlan> read_shared_plan(const Location& output);

}  // namespace headrace
