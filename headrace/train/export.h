#pragma once

/// \file The export of a finished run: a SavedModel with the trained variables, and its publication under a
/// name.

#include <string>
#include <string_view>

#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

struct ExportDescription {
  std::vector<std::string> labels;  // class names in the order of the outputs
  EncoderDescription encoder;
  std::string features;  // name of the feature that the model takes
  std::uint64_t features_width = 0;
  std::string label_feature;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
};

/// Writes the traced SavedModel with the model's present variables to `folder`; saved_model.pb is the last of
/// its files and the manifest comes after it. Returns the manifest's digest.
Result<std::string> export_model(Model& model, const TracedModel& traced, const Location& folder,
                                 const ExportDescription& description, const std::string& temporary_folder,
                                 std::string_view plan, std::string_view run_id);

/// \error kInvalidArgument  not a name of a model: [A-Za-z0-9._-], up to 128, first a letter or digit
Status check_model_name(std::string_view name);

struct NamedVersion {
  std::uint64_t version = 0;
  Location folder;
};

/// Publishes an export as the next version of models/`name` below `root`, and points the alias "latest" to
/// it. A run that has published this export before gets that version again.
/// \error kInvalidArgument  as `check_model_name`
Result<NamedVersion> publish_named_model(const Location& root, std::string_view name,
                                         const Location& exported, std::string_view digest,
                                         std::string_view run_id);

}  // namespace headrace
