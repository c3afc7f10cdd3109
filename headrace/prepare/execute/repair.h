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
  /// The part has its bytes again. In a dry run: nothing is known that prevents the repair.
  bool is_repaired = false;
  std::string why{};  // the reason why the part cannot be repaired; for people
};

struct RepairOptions {
  int workers = 1;
  /// Bytes of sorted rows that are held in memory before they go to the temporary folder.
  std::uint64_t memory_bytes = 256 << 20;
  /// On a local disk. Holds the parts that are being made, one for each worker, and the files of sorting.
  std::string temporary_folder{};
  /// Only report what could be repaired.
  bool is_dry_run = false;
};

/// Repairs parts of the dataset that `versions` publish. `versions` holds all its manifests, in any order. A
/// part is created, or replaces a damaged part, only with the bytes that its manifest names; nothing else is
/// changed. Thus several repairs may run at once, and together with any other command. If the dataset is
/// overwritten or removed meanwhile, created parts are removed again.
///
/// An index is made from its shard, if the shard is intact. Everything else is made from the input, by the
/// plan of the version that made it. REQUIRES: versions is not empty
/// \return the outcome for each damaged part, in their order
/// \error kAborted    the dataset was overwritten or removed meanwhile
/// \error kCancelled  `context.stop` was requested
Result<std::vector<PartRepair>> repair_dataset(const std::vector<PublishedFolder>& versions,
                                               std::vector<DamagedPart> damaged,
                                               const PlanningContext& context, const RepairOptions& options,
                                               const PrepareProgress& progress);

}  // namespace headrace
