#pragma once

/// \file Exports a finished run as a SavedModel with the trained variables, and publishes it under a name.

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

/// Publishes the traced SavedModel with the model's present variables in RUN/export. saved_model.pb is
/// written after all other files, and the manifest after it. Returns the manifest's digest.
/// \error kAborted            another process owns the run now
/// \error kResourceExhausted  there is no room in `temporary_folder`
Result<std::string> export_model(Model& model, const TracedModel& traced, OwnedOutput& run,
                                 const ExportDescription& description, const std::string& temporary_folder,
                                 std::string_view plan, std::string_view run_id);

inline constexpr std::string_view kExportFolder = "export";

/// Copies the files of an export to RUN/export itself, where other programs look for a SavedModel, unless
/// equal copies are there. Only the first owner has its files there; each later owner has its own folder.
/// Call this whenever the run is found finished, because a process that lost the run may have written there.
Status copy_to_fixed_names(const PublishedFolder& exported);

struct NamedVersion {
  std::uint64_t version = 0;
  Location folder;
};

/// Publishes an export as the next version of models/`name` below `root`, and points the alias "latest" to
/// it, unless the alias already names a later version. If this export is already a version, returns that
/// version, and only completes what a killed publisher had not done. `digest` is the export's expected
/// digest. Cost: one read for each version of the name, and a copy of the files.
/// \error kInvalidArgument     as check_model_name (model/named_model.h)
/// \error kFailedPrecondition  the version's folder has a file whose bytes differ from the export
/// \error kNotFound            nothing is published at `exported`
/// \error kAborted             the export was overwritten, or too many publish at the same time
Result<NamedVersion> publish_named_model(const Location& root, std::string_view name,
                                         const Location& exported, std::string_view digest,
                                         std::string_view run_id);

}  // namespace headrace
