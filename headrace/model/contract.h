#pragma once

/// \file The contract of a model: what it takes from a record, what it returns, and how raw data become a
/// record. An export carries it (docs/formats/manifest.md, "saved_model").

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/engine/model_binding.h"
#include "headrace/record/manifest.h"

namespace headrace {

struct ModelContract {
  ModelBinding binding;
  std::vector<std::string>
      metrics;  // names of the values in eval_step's `metrics`, the rows first; empty without a loss
  /// Feature → its values in the order of their ids, for inputs and targets that have a vocabulary.
  std::map<std::string, std::vector<std::string>> vocabularies;
  /// Label → the columns of its values, in their order, if each value was made from one column.
  std::map<std::string, std::vector<std::string>> label_columns;
  std::map<std::string, EncoderDescription> encoders;  // of input features that are vectors of texts
  std::string schema;  // of the training data, in TOML (docs/prepare.md); empty: unknown
};

/// The contract of a model that is bound to data with these attributes.
ModelContract make_contract(const ModelBinding& binding, std::vector<std::string> metrics,
                            const DatasetAttributes& data);

/// The contract as members of an export's attributes.
Json to_json(const ModelContract& contract);
/// Parses what to_json has written.
/// \error kDataLoss  a member is missing or has another type; there are no metrics; check_contract fails
Result<ModelContract> parse_contract(std::string_view json);

/// Whether an output has the number of values that this kind of target, its label and its classes require.
bool fits_target(TargetKind kind, const ModelOutput& output, const ModelFeature& label, std::size_t classes);
/// Checks the contract: check_binding holds, and each target's output and label fit each other. All code that
/// reads records for a model, or compares its outputs, relies on this.
/// \error kInvalidArgument  the contract breaks a rule; the message says which
Status check_contract(const ModelContract& contract);

/// The names of the scores of a target's output: the values of the label's vocabulary, else the columns that
/// it was made from, else "0", "1" … A binary target has one score but two names, for no and for yes.
/// Empty for regression.
std::vector<std::string> class_names(const ModelContract& contract, const ModelTarget& target);
/// The contract's binding as JSON. Each target also has "classes": the names of its scores.
Json binding_with_classes(const ModelContract& contract);

/// Checks that the data have the features that the model takes: types, shapes, encoders and classes. `where`
/// names the data in messages.
/// \error kInvalidArgument     a feature is missing, or has another type, shape or classes
/// \error kFailedPrecondition  another encoder made a feature; the message names both encoders
Status check_inputs(const ModelContract& contract, const DatasetAttributes& data, std::string_view where);
/// Checks that the data have the labels with which the model's outputs are compared.
/// \error kInvalidArgument  a label is missing, or has another type, shape or classes
Status check_targets(const ModelContract& contract, const DatasetAttributes& data, std::string_view where);

/// For people: "hash:16 (weights 0123456789abcdef)" or "no encoder".
std::string describe(const EncoderDescription& encoder);

/// A feature of a dataset in the form in which a model may take it; nullopt: there is no such feature.
std::optional<ModelFeature> model_feature(const DatasetAttributes& data, const std::string& name);

}  // namespace headrace
