#pragma once

/// \file The export of a finished run: a SavedModel with the trained variables, and its publication under a
/// name.

#include <string>
#include <string_view>

#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/model/contract.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/track/stage_output.h"

namespace headrace {

struct ExportDescription {
  ModelContract contract;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
};

/// Publishes the traced SavedModel with the model's present variables in RUN/export; saved_model.pb is the
/// last of its files and the manifest comes after it. Returns the manifest's digest.
/// \error kAborted  somebody else owns the run now
Result<std::string> export_model(Model& model, const TracedModel& traced, OwnedOutput& run,
                                 const ExportDescription& description, const std::string& temporary_folder,
                                 std::string_view plan, std::string_view run_id);

inline constexpr std::string_view kExportFolder = "export";

/// Other programs find a SavedModel at RUN/export itself. An owner after the first has its files in a folder
/// of its own: copies them there, unless equal copies are there. Repeat it whenever the run is found
/// finished, because a process that lost the run may have written there.
Status copy_to_fixed_names(const PublishedFolder& exported);

struct NamedVersion {
  std::uint64_t version = 0;
  Location folder;
};

/// Publishes an export as the next version of models/`name` below `root`, and points the alias "latest" to
/// it, unless the alias names a later version already. If this export has been a version before, that version
/// is returned, and nothing is changed but what a publisher that died had not done. Cost: a read for each
/// version of the name.
/// \error kInvalidArgument     as check_model_name (model/named_model.h)
/// \error kFailedPrecondition  the version's folder holds a file with other bytes than the export
Result<NamedVersion> publish_named_model(const Location& root, std::string_view name,
                                         const Location& exported, std::string_view digest,
                                         std::string_view run_id);

}  // namespace headrace
