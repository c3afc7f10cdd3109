#pragma once

/// \file The model that a training run exported, loaded, with its manifest's attributes.

#include <memory>
#include <optional>
#include <string>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/store/location.h"
#include "headrace/store/staging.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// Movable. The files live as long as it does.
struct ExportedModel {
  Location folder;     // the export
  std::string digest;  // SHA-256 (hex) of its manifest
  ModelContract contract;
  std::optional<StagedFolder> files;  // none: the caller keeps them
  std::unique_ptr<Model> model;
  /// The signature that is called, if Headrace did not write the model (foreign_model.h); else empty.
  std::string signature{};

  bool is_foreign() const { return !signature.empty(); }
};

/// Opens RUN/export, or `run` itself if that is an export, such as a version of a named model. Every file
/// is compared with its checksum. `intra_op_threads`: as in ModelOptions. Cost: a copy of the export in
/// `temporary_folder`.
/// \error kFailedPrecondition  the run has not finished training
/// \error kNotFound            there is no run
/// \error kDataLoss            a file of the export is missing or altered
Result<ExportedModel> open_exported_model(const Location& run, Engine& engine,
                                          const std::string& temporary_folder, int intra_op_threads = 1);

/// Checks that `dataset` has what the model takes, and, if `with_labels`, what its outputs are compared with.
/// Data without a manifest pass; the first record shows what is wrong with them.
/// \error as check_inputs and check_targets (model/contract.h)
Status check_dataset(const ExportedModel& model, const Dataset& dataset, bool with_labels);

}  // namespace headrace
