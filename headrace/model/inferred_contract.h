#pragma once

/// \file The contract of a model that Headrace did not write, inferred from one of its signatures and from
/// the data that it is used on. A feature goes where the user says; else to the input of its name; else,
/// where one input and one feature are left that fit each other by type and number of values, to that one.
/// Labels go to outputs likewise. Nothing is guessed between two that fit.

#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/model/offered_features.h"

namespace headrace {

/// The features that data must have which nobody has described, files without a manifest: those that the
/// signature takes.
/// `features` is the value of the option --features.
/// \error kInvalidArgument  an input leaves a size open, or takes what no feature can be cast to
Result<DatasetAttributes> taken_features(const Signature& signature, std::string_view features);

/// The features that the inputs take, in the order of the inputs' names. Numbers are cast to the input's type
/// and reshaped to its shape when the model is run: engine/adapted_model.h.
/// \error kInvalidArgument  an input takes no rows, or what no feature can be cast to; or it is not clear
///                          which feature it takes: lists both sides
Result<std::vector<ModelInput>> bind_inputs(const Signature& signature, const OfferedFeatures& offered);

/// The contract of a model with these inputs, which is compared with no label. Outputs that hold no numbers
/// are left out. It has no metrics: the model has no loss.
/// \error kInvalidArgument  no output has numbers for each row
Result<ModelContract> infer_contract(const Signature& signature, std::vector<ModelInput> inputs,
                                     const DatasetAttributes& data);

/// Adds the targets: each label that is offered, and the output that it is compared with. Labels with a
/// vocabulary are classes, or a yes or no where the output has one score. An int64 without one is a class
/// number where there are several scores, and a yes or no where there is one; as many int64 as scores are
/// several labels (multi-label). A float32 is compared as a number.
/// \error kInvalidArgument  it is not clear which output belongs to a label: lists both sides
Status add_targets(ModelContract& contract, const OfferedFeatures& offered, const DatasetAttributes& data);

}  // namespace headrace
