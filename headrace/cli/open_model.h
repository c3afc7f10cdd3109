#pragma once

/// \file Opens the model that a command names: an export of Headrace, or a SavedModel of another program.

#include <optional>

#include "headrace/cli/command.h"
#include "headrace/engine/engine.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/track/recorder.h"

namespace headrace {

inline constexpr Option kSignatureOption = {
    .name = "signature",
    .default_value = "serving_default",
    .sentence = "Signature to call of a SavedModel that Headrace did not write."};
inline constexpr Option kInputFeaturesOption = {
    .name = "features",
    .unit = "LIST",
    .sentence =
        "Features that a SavedModel of another program takes, as INPUT=FEATURE where names and types do not "
        "decide."};
inline constexpr Option kOutputLabelsOption = {
    .name = "labels",
    .unit = "LIST",
    .sentence =
        "Labels by which the outputs of such a SavedModel are compared and named, as OUTPUT=LABEL where the "
        "output is not clear."};
inline constexpr Option kLikeOption = {
    .name = "like",
    .unit = "URL",
    .sentence =
        "Dataset whose schema, vocabularies and encoders say how to make the inputs of such a SavedModel. "
        "Default: the dataset that --data names."};
inline constexpr Option kRowSchemaOption = {
    .name = "schema",
    .unit = "FILE",
    .sentence =
        "Schema that says how raw rows become the inputs of such a SavedModel, as headrace prepare "
        "takes it. Labels need a vocabulary in it."};

/// Opens the model at `run`. If another program wrote it, also tells the user which features its inputs take.
/// `values`: of the options above. `data`: the dataset of --data, unless that is a stream. `needs_labels`:
/// the model is to be evaluated.
/// \error kInvalidArgument  one of those options is given for a model that Headrace wrote, which knows its
///                          inputs
/// \error as open_exported_model and open_foreign_model
Result<ExportedModel> open_model(CommandContext& context, const Location& run,
                                 const std::optional<Location>& data, const OptionValues& values,
                                 Engine& engine, bool needs_labels);

/// Records the model as an input named "model", by its manifest or by the digest of its files.
Status add_model_input(RunRecorder& recorder, const ExportedModel& model);

}  // namespace headrace
