#pragma once

/// \file A plan's claim to its output: docs/formats/ownership.md, "prepare".

#include <cstdint>

#include "headrace/prepare/plan/plan.h"
#include "headrace/track/stage_output.h"

namespace headrace {

/// The objects that the stage leaves in its output.
StageOutput prepare_output();

/// How a plan may use its output.
struct PlanClaim {
  OutputState seen{};
  OwnershipAction action = OwnershipAction::kBegin;
  /// True if the current entry belongs to the same plan: a process that executes the plan joins it, without
  /// an entry of its own.
  bool joins = false;
  /// The generation to which the plan's objects belong once it is claimed as `seen` allows.
  std::uint64_t generation = 0;
  /// Number of the manifest if the plan is already published; otherwise 0.
  std::uint64_t published = 0;
};

/// Checks whether the plan may begin, join, overwrite or continue at `output`. Changes nothing.
/// \error kFailedPrecondition  another plan was started there, and `overwrite` is not set; or another process
///                             overwrites the dataset that the plan continues
/// \error kAborted             a newer version of the dataset that the plan continues was published, or it
///                             was removed
/// \error as examine_output
Result<PlanClaim> examine_plan_output(const Location& output, const PreparePlan& plan, bool overwrite);

/// Joins, or appends an entry, as `claim` says. REQUIRES: the plan is not published
/// \error kAborted  another process has begun something there meanwhile
Result<OwnedOutput> claim_output(const Location& output, const PreparePlan& plan, const PlanClaim& claim,
                                 const Actor& actor);

}  // namespace headrace
