#pragma once

/// \file The model that a training run exported, loaded, with its manifest's attributes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/encoder.h"
#include "headrace/engine/engine.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/store/staging.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// Attributes of a manifest of kind "saved_model" (docs/formats/manifest.md).
struct ExportAttributes {
  std::vector<std::string> labels;  // class names in the order of the outputs
  EncoderDescription encoder;       // of the texts that it was trained on; no name: of no texts
  std::string features;             // the feature that it takes …
  std::uint64_t features_width = 0;
  std::string label_feature;
  std::vector<std::string> metrics;  // what `metrics` of eval_step counts: first the rows
};

/// \error kDataLoss  a member is missing or of another type
Result<ExportAttributes> parse_export_attributes(std::string_view json);

/// Movable. The files live as long as it does.
struct ExportedModel {
  Location folder;     // the export
  std::string digest;  // SHA-256 (hex) of its manifest
  ExportAttributes attributes;
  StagedFolder files;
  std::unique_ptr<Model> model;
};

/// Opens RUN/export, or `run` itself if that is an export, such as a version of a named model. Every file is
/// compared with its checksum. Cost: a copy of the export in `temporary_folder`.
/// \error kFailedPrecondition  the run has not finished training
/// \error kNotFound            there is no run
/// \error kDataLoss            a file of the export is missing or altered
Result<ExportedModel> open_exported_model(const Location& run, Engine& engine,
                                          const std::string& temporary_folder);

/// \error kFailedPrecondition  it is not the encoder that the model was trained with: both are named
Status check_encoder(const ExportAttributes& attributes, const TextEncoder& encoder);

/// Checks that the records of `dataset` fit the model: the feature's type and width, the encoder that made
/// it, the class names. Data without a manifest pass; the first record shows what is wrong with them.
/// \error kInvalidArgument     another shape, or other classes
/// \error kFailedPrecondition  another encoder
Status check_dataset(const ExportedModel& model, const Dataset& dataset);

}  // namespace headrace
