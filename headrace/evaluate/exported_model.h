#pragma once

/// \file Loads the model that a training run exported, with its manifest's attributes.

#include <memory>
#include <optional>
#include <string>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/store/location.h"
#include "headrace/store/staging.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// Movable. The copied files are removed with it.
struct ExportedModel {
  Location folder;     // the export
  std::string digest;  // SHA-256 (hex) of its manifest
  ModelContract contract;
  std::optional<StagedFolder> files;  // nullopt: the caller keeps the files
  std::unique_ptr<Model> model;
  /// The signature to call, if Headrace did not write the model (foreign_model.h); else empty.
  std::string signature{};

  bool is_foreign() const { return !signature.empty(); }
};

/// Opens RUN/export, or `run` itself if it is an export, such as a version of a named model. Compares every
/// file with its checksum. `intra_op_threads`: as in ModelOptions. Cost: a copy of the export in
/// `temporary_folder`.
/// \error kFailedPrecondition  the run has not finished training
/// \error kNotFound            there is no run
/// \error kInvalidArgument     the folder is published, but is not a run of training or its export
/// \error kDataLoss            a file of the export is missing or altered
/// \error of the store or the engine
Result<ExportedModel> open_exported_model(const Location& run, Engine& engine,
                                          const std::string& temporary_folder, int intra_op_threads = 1);

/// Checks that `dataset` has the features that the model takes and, with `with_labels`, the labels that its
/// outputs are compared with. A dataset without a manifest passes: its first record shows what does not fit.
/// \error as check_inputs and check_targets (model/contract.h)
Status check_dataset(const ExportedModel& model, const Dataset& dataset, bool with_labels);

}  // namespace headrace
