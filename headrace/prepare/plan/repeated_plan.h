#pragma once

/// \file Makes the plan of a published version again, in order to make its parts again.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// The plan from which a published version was made.
struct VersionOrigin {
  Configuration configuration{};
  std::string plan_digest{};
  std::uint64_t generation = 0;

  /// The digits in the names of the parts that the version has added.
  std::string tag() const { return name_tag(plan_digest, generation); }
};

/// Reads the plan of a version.
/// \error kFailedPrecondition  headrace prepare did not make the version, or its plan is gone
/// \error kDataLoss            its plan cannot be read
Result<VersionOrigin> read_origin(const PublishedFolder& version);

struct RepeatedPlan {
  PlannedPrepare planned;
  /// Inputs that have the same size as when they were read, but another version in their store, for people.
  /// Empty if there are none. The bytes of the parts will show whether the content is the same.
  std::string rewritten_inputs{};
};

using Versions = std::vector<const PublishedFolder*>;

/// Makes the plan of a version again. Lists its input again, and ignores additions since then. The version's
/// record of its inputs tells them or, if that cannot be read, the records of the versions `later`.
/// \error kFailedPrecondition  inputs are gone or have another size (names the first ones); or encoders,
///                             libraries or this program differ from those that the plan names
/// \error as find_input, read_base, leave_what_continues and make_encoders
Result<RepeatedPlan> repeat_plan(const PublishedFolder& version, const VersionOrigin& origin,
                                 const Versions& later, const PlanningContext& context);

}  // namespace headrace
