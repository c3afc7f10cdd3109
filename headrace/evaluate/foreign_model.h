#pragma once

/// \file A SavedModel that Headrace did not write, from tf.saved_model.save, Keras' export or TensorFlow Hub.

#include <optional>
#include <string>

#include "headrace/evaluate/exported_model.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// True if `folder` holds a SavedModel, but neither a run nor anything published.
Result<bool> is_foreign_model(const Location& folder, const CallOptions& call);

struct ForeignModelOptions {
  std::string signature = "serving_default";
  /// Values of --features and --labels (model/offered_features.h).
  std::string features{};
  std::string labels{};
  /// Compare the model with labels even if `labels` names none.
  bool needs_labels = false;
};

/// Copies the SavedModel, loads it, and infers its contract from the signature and from `data`, the
/// attributes of the dataset on which it is used (model/inferred_contract.h). Without `data`, assumes that
/// the data have the features that the signature takes. The digest is that of the copied files
/// (docs/formats/evaluation.md). If the signature leaves the rank of an output open, runs the model on a row
/// of zeros. If it also takes rows of any length, runs the model on two rows of different lengths; sizes in
/// which the answers differ are open. Cost: a copy in `temporary_folder`.
/// \error kNotFound         there is no such signature
/// \error kInvalidArgument  signature and data do not fit each other; the message lists both
/// \error kAborted          the model was replaced repeatedly while it was copied
Result<ExportedModel> open_foreign_model(const Location& folder, const std::optional<DatasetAttributes>& data,
                                         const ForeignModelOptions& options, Engine& engine,
                                         const std::string& temporary_folder);

}  // namespace headrace
