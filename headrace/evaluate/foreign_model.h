#pragma once

/// \file A SavedModel that Headrace did not write: made by tf.saved_model.save, Keras' export or TensorFlow
/// Hub.

#include <optional>
#include <string>

#include "headrace/evaluate/exported_model.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// Whether a SavedModel lies in `folder`, and neither a run nor anything published.
Result<bool> is_foreign_model(const Location& folder, const CallOptions& call);

struct ForeignModelOptions {
  std::string signature = "serving_default";
  /// Values of --features and --labels (model/offered_features.h).
  std::string features{};
  std::string labels{};
  /// The model is compared with labels even if none is named.
  bool needs_labels = false;
};

/// Copies the SavedModel, loads it, and infers its contract from the signature and from `data`, the
/// attributes of the data that it is used on (model/inferred_contract.h). Without those, the data are taken
/// to have what the signature takes. The digest is that of the copied files (docs/formats/evaluation.md).
/// Where the signature leaves the rank of an output open, a row of zeros is run; where it also takes rows of
/// any length, two of different lengths: sizes in which the answers differ are open. Cost: a copy in
/// `temporary_folder`.
/// \error kNotFound         there is no such signature
/// \error kInvalidArgument  signature and data do not fit each other: lists both sides
/// \error kAborted          the model was replaced again and again while it was copied
Result<ExportedModel> open_foreign_model(const Location& folder, const std::optional<DatasetAttributes>& data,
                                         const ForeignModelOptions& options, Engine& engine,
                                         const std::string& temporary_folder);

}  // namespace headrace
