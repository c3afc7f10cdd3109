#pragma once

/// \file Makes missing and damaged parts of a published dataset again: docs/prepare.md, "Repairing".

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/prepare/execute/task_runner.h"
#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// A part of a manifest that is missing, or not as it was published.
struct DamagedPart {
  ManifestPart part;
  std::string problem;  // for people
};

struct PartRepair {
  DamagedPart damaged;
  /// With its bytes again; in a dry run: nothing is known that prevents it.
  bool is_repaired = false;
  std::string why{};  // it cannot be repaired; for people
};

struct RepairOptions {
  int workers = 1;
  /// Bytes of sorted rows that are held in memory before they go to the temporary folder.
  std::uint64_t memory_bytes = 256 << 20;
  /// On a local disk; holds the parts that are made, one for each worker, and what sorting needs.
  std::string temporary_folder{};
  /// Only says what could be repaired.
  bool is_dry_run = false;
};

/// Repairs parts of the dataset that `versions` publish: all its manifests, in any order. A part is created,
/// or replaces a damaged one, only with the bytes that its manifest names; nothing else is changed. Thus
/// several repairs may run at once, and beside any other command. If the dataset is overwritten or removed
/// meanwhile, what was created is removed again.
///
/// An index is made from its shard, if that is whole; everything else from the input, by the plan of the
/// version that made it. REQUIRES: versions is not empty
/// \return what became of each damaged part, in their order
/// \error kAborted    the dataset was overwritten or removed meanwhile
/// \error kCancelled
Result<std::vector<PartRepair>> repair_dataset(const std::vector<PublishedFolder>& versions,
                                               std::vector<DamagedPart> damaged,
                                               const PlanningContext& context, const RepairOptions& options,
                                               const PrepareProgress& progress);

}  // namespace headrace
