#pragma once

/// \file The contract of a model: what it takes from a record, what it returns, and how what is raw becomes a
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
      metrics;  // what `metrics` of eval_step counts: first the rows; none without a loss
  /// Feature → its values in the order of their ids; of the inputs and targets that have a vocabulary.
  std::map<std::string, std::vector<std::string>> vocabularies;
  /// Label → the columns that its values were made from, in their order, where each has one.
  std::map<std::string, std::vector<std::string>> label_columns;
  std::map<std::string, EncoderDescription> encoders;  // of the input features that are vectors of texts
  std::string schema;  // of the data that it was trained on, TOML: docs/prepare.md; empty: unknown
};

/// The contract of a model that is bound to data with these attributes.
ModelContract make_contract(const ModelBinding& binding, std::vector<std::string> metrics,
                            const DatasetAttributes& data);

/// Members of an export's attributes.
Json to_json(const ModelContract& contract);
/// \error kDataLoss  a member is missing or of another type, or check_contract refuses the contract
Result<ModelContract> parse_contract(std::string_view json);

/// Whether an output has as many values as a target of that kind, its label and its classes demand.
bool fits_target(TargetKind kind, const ModelOutput& output, const ModelFeature& label, std::size_t classes);
/// Checks what everything that reads records for a model, or compares its outputs, relies on: check_binding,
/// and that each target's output and label fit each other.
/// \error kInvalidArgument  says what is wrong
Status check_contract(const ModelContract& contract);

/// Names of the scores of a target's output: the values of the label's vocabulary, or the columns that it was
/// made from; of other labels "0", "1" …
/// A binary target has one score, and two names: of no and of yes. None for regression.
std::vector<std::string> class_names(const ModelContract& contract, const ModelTarget& target);
/// The JSON of the contract's binding; each target also has "classes", the names of its scores.
Json binding_with_classes(const ModelContract& contract);

/// Whether the model takes the features of such data: types, shapes, encoders and classes. `where` names the
/// data.
/// \error kInvalidArgument     a feature is missing, or of another type or shape, or has other classes
/// \error kFailedPrecondition  another encoder made it: both are named
Status check_inputs(const ModelContract& contract, const DatasetAttributes& data, std::string_view where);
/// Whether the data have the labels that the model is to be compared with.
/// \error kInvalidArgument  a label is missing, of another type or shape, or has other classes
Status check_targets(const ModelContract& contract, const DatasetAttributes& data, std::string_view where);

/// "hash:16 (weights 0123456789abcdef)"; "no encoder".
std::string describe(const EncoderDescription& encoder);

/// The feature of a dataset as a model may take it; none: there is no such feature.
std::optional<ModelFeature> model_feature(const DatasetAttributes& data, const std::string& name);

}  // namespace headrace
