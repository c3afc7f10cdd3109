#pragma once

/// \file A plan in a store, which any number of processes execute.

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/write/plan_claim.h"
#include "headrace/store/location.h"

namespace headrace {

/// Claims the output for the plan, or joins a process that has claimed it for the same plan. Writes the
/// slices there for the other processes.
/// \error kFailedPrecondition  another plan was started there, and `overwrite` is not set
/// \error kAborted             the plan was published, or another process took over the output, meanwhile
Result<OwnedOutput> share_plan(const PreparePlan& plan, const Location& output, bool overwrite,
                               const Actor& actor);

/// True if the latest version of the dataset was made by an append of the same input, so that there is
/// nothing new. `plan` appends.
Result<bool> was_appended(const Location& output, const PreparePlan& plan);

/// Checks that this process may execute `plan`, which continues a dataset, together with other processes.
/// \error kFailedPrecondition  another plan that continues the same version was started; names the
///                             differences
Status check_continuation(const Location& output, const PreparePlan& plan);

struct SharedPlan {
  PreparePlan plan;
  OwnedOutput owned;
};

/// Reads the plan that was shared at `output`. If the plan is already published, it has no slices: no work is
/// left.
/// \error kNotFound            no plan was shared there
/// \error kFailedPrecondition  the output holds something else
/// \error as parse_plan
Result<SharedPlan> read_shared_plan(const Location& output);

}  // namespace headrace
