#pragma once

/// \file A plan's claim to its output: docs/formats/ownership.md, "prepare".

#include <cstdint>

#include "headrace/prepare/plan/plan.h"
#include "headrace/track/stage_output.h"

namespace headrace {

/// The objects that the stage leaves in its output.
StageOutput prepare_output();

/// How a plan may have its output.
struct PlanClaim {
  OutputState seen{};
  OwnershipAction action = OwnershipAction::kBegin;
  /// The entry in force is one of this very plan: who executes the plan joins it, without an entry of its
  /// own.
  bool joins = false;
  /// The generation that the plan's objects belong to, once it is claimed as `seen` allows.
  std::uint64_t generation = 0;
  /// Number of the manifest, if the plan is published already; else 0.
  std::uint64_t published = 0;
};

/// Whether the plan may begin, join, overwrite or continue at `output`. Changes nothing.
/// \error kFailedPrecondition  another plan was started there, and `overwrite` is not set; somebody
///                             overwrites the dataset that the plan continues; or the errors of
///                             examine_output
/// \error kAborted             the dataset that the plan continues was published anew meanwhile
Result<PlanClaim> examine_plan_output(const Location& output, const PreparePlan& plan, bool overwrite);

/// Joins, or appends an entry, as `claim` says. REQUIRES: the plan is not published
/// \error kAborted  somebody else has begun something there meanwhile
Result<OwnedOutput> claim_output(const Location& output, const PreparePlan& plan, const PlanClaim& claim,
                                 const Actor& actor);

}  // namespace headrace
