#pragma once

/// \file The plan of a version that is published already, made again to make its parts again.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// The plan that a published version was made by.
struct VersionOrigin {
  Configuration configuration{};
  std::string plan_digest{};
  std::uint64_t generation = 0;

  /// The digits in the names of the parts that the version added to what it continues.
  std::string tag() const { return name_tag(plan_digest, generation); }
};

/// \error kFailedPrecondition  headrace prepare did not make it, or its plan is gone
/// \error kDataLoss            its plan cannot be read
Result<VersionOrigin> read_origin(const PublishedFolder& version);

struct RepeatedPlan {
  PlannedPrepare planned;
  /// Inputs that have the same size as when they were read, but another version in their store; for people.
  /// Empty: there are none. Whether their content is the same, the bytes of the parts will tell.
  std::string rewritten_inputs{};
};

using Versions = std::vector<const PublishedFolder*>;

/// Plans a version again. Its input is listed anew; what has come to it since is passed over, as the
/// version's record of its inputs tells, or without that the records of the versions `later`.
/// \error kFailedPrecondition  inputs are gone or have another size: names the first ones; or encoders,
///                             libraries or this program are others than those the plan names
/// \error those of find_input, read_base, leave_what_continues and make_encoders
Result<RepeatedPlan> repeat_plan(const PublishedFolder& version, const VersionOrigin& origin,
                                 const Versions& later, const PlanningContext& context);

}  // namespace headrace
