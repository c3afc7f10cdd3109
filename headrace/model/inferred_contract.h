#pragma once

/// \file Infers the contract of a model that Headrace did not write from one of its signatures and from the
/// data that it is used on. A feature goes to the input that the user names, else to the input of the same
/// name. If just one input and one feature are left, and they fit by type and number of values, they are
/// matched. Labels are matched with outputs in the same way. If two candidates fit, nothing is guessed.

#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/model/offered_features.h"

namespace headrace {

/// The features that files without a manifest must have: those that the signature takes. `features` is the
/// value of the option --features.
/// \error kInvalidArgument  an input leaves a size open, takes no rows, or has a type to which no feature can
///                          be cast; as parse_assignments
Result<DatasetAttributes> taken_features(const Signature& signature, std::string_view features);

/// Matches the signature's inputs with features, in the order of the inputs' names. When the model runs,
/// numbers are cast to the input's type and reshaped to its shape: engine/adapted_model.h.
/// \error kInvalidArgument  an input takes no rows, or has a type to which no feature can be cast; or it is
///                          not clear which feature it takes: the message lists both sides
Result<std::vector<ModelInput>> bind_inputs(const Signature& signature, const OfferedFeatures& offered);

/// The contract of a model with these inputs and without targets. Outputs without numbers are left out. There
/// are no metrics, because the model has no loss.
/// \error kInvalidArgument  no output has numbers for each row; as check_contract
Result<ModelContract> infer_contract(const Signature& signature, std::vector<ModelInput> inputs,
                                     const DatasetAttributes& data);

/// Adds a target for each offered label, and matches it with an output. A label with a vocabulary is a class,
/// or yes/no if the output has one score. A single int64 without a vocabulary is a class number if there are
/// several scores, and yes/no if there is one. Several int64, as many as scores, are multi-label. A float32
/// is compared as a number (regression).
/// \error kInvalidArgument  it is not clear which output belongs to a label, or two labels belong to the same
///                          output: the message lists both sides; as check_contract
Status add_targets(ModelContract& contract, const OfferedFeatures& offered, const DatasetAttributes& data);

}  // namespace headrace
