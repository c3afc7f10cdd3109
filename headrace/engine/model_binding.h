#pragma once

/// \file Binds a model to data by name: the features of a record that become inputs, and the labels with
/// which outputs are compared. JSON: docs/formats/traced-model.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// A feature of the data, in the form in which a loader gives it: [rows, *shape].
struct ModelFeature {
  std::string name;
  DataType type = DataType::kFloat32;  // kFloat32, kInt64, kBytes, or kUint8: pixels of a decoded image
  /// The shape of a row; empty: one value. Pixels have height, width and channels; -1 means that the model
  /// decides. A ragged feature has one size: shorter rows are filled up with 0 or empty byte strings, and
  /// longer ones are cut; -1 means the size of the longest row in the batch.
  std::vector<std::int64_t> shape{};
  int classes = 0;          // for a label with a vocabulary: the number of its classes
  bool is_one_hot = false;  // a label of `classes` values, one of which is 1
  /// A record may lack the feature; its values are then 0 or empty byte strings. Labels and images are never
  /// optional.
  bool is_optional = false;
  bool is_ragged = false;  // records have different numbers of values
  /// The model takes the mask instead of the values. The mask is float32: 1 for a value of the record, 0 for
  /// a value that fills up a row or stands for a missing one.
  bool is_mask = false;

  /// The number of values in a row. REQUIRES: no size is -1
  std::uint64_t size() const;
  bool operator==(const ModelFeature&) const = default;
};

/// An input of the model and the feature that it takes.
struct ModelInput {
  std::string tensor;  // the name in the signatures
  std::string name;    // the name in the model
  ModelFeature feature;
};

/// The kind of prediction that an output makes.
enum class TargetKind : std::uint8_t {
  kClasses,     // a score for each of several classes; one class is right
  kBinary,      // one score: yes or no
  kMultiLabel,  // a score for each of several labels; any number of labels apply
  kRegression,  // numbers
};

/// "classes", "binary", "multi-label", "regression".
std::string_view target_kind_name(TargetKind kind);

/// The meaning of an output's scores. Not used for kRegression.
enum class TargetScores : std::uint8_t {
  kProbability,  // 0.5 lies between no and yes
  kLogit,        // the sigmoid, or the softmax for kClasses, gives the probability
  kMargin,       // 0 lies between no and yes, as with a hinge loss; the label may be -1 for no
};

/// "probability", "logit", "margin".
std::string_view target_scores_name(TargetScores scores);

/// A label, and the output with which a loss compares it.
struct ModelTarget {
  std::string tensor;  // the label's name in the signatures
  std::string output;  // the output's name in the model
  ModelFeature label;
  TargetKind kind = TargetKind::kClasses;
  TargetScores scores = TargetScores::kProbability;
  /// The number of a class that the loss ignores (Keras' ignore_class). It need not be one of the classes.
  std::optional<std::int64_t> ignored_class{};
};

struct ModelOutput {
  std::string tensor;               // the name in the signatures
  std::string name;                 // the name in the model
  std::vector<std::int64_t> shape;  // of a row; -1: open

  /// The number of values in a row; none if a size is open.
  std::optional<std::uint64_t> size() const;
};

struct ModelBinding {
  std::vector<ModelInput> inputs;
  std::vector<ModelTarget> targets;
  std::vector<ModelOutput> outputs;
  /// The feature with the weight of a record in the loss and in weighted metrics: one number, float32 or
  /// int64.
  std::optional<ModelFeature> weights{};

  /// The arguments of `predict`: the features of the inputs, in their order.
  std::vector<ModelFeature> input_features() const;
  /// The columns of a batch that train_step and eval_step take: the input features, then the labels of the
  /// targets, then the weights of records if there are any.
  std::vector<ModelFeature> step_features() const;
  /// The names of the arguments of train_step and eval_step: one for each of `step_features`, then the
  /// weights of rows.
  std::vector<std::string> step_tensors() const;
  /// Borrows the output with that name; null if there is none.
  const ModelOutput* find_output(std::string_view name) const;
};

Json to_json(const ModelFeature& feature);
/// The feature whose mask an option names: "tokens" for "tokens:mask". None for a name without ":mask". Views
/// `name`.
std::optional<std::string_view> masked_feature(std::string_view name);
/// The names of a feature's mask: first the name in options, then the name of an input that takes the mask
/// without an option. Empty if the feature has no mask.
std::vector<std::string> mask_names(const ModelFeature& feature);
/// An object with the members "inputs", "targets", "outputs" and, if the binding has weights, "weights".
Json to_json(const ModelBinding& binding);
/// \throws JsonError  a member is missing or has another type, or `check_binding` refuses the binding
ModelBinding binding_from_json(const Json& from);

/// Checks that each shape is known and has at most 2^30 values, and that a feature that occurs twice has the
/// same type and shape. BatchTensors (stream/batch_tensors.h) relies on this.
/// \error kInvalidArgument  the message says which feature is wrong
Status check_features(const std::vector<ModelFeature>& features);
/// Checks all features of a binding in the same way, and everything else that users of a binding rely on:
/// there are inputs and outputs, labels and weights are numbers, each target's output exists, and no two
/// arguments, results or outputs have the same name.
/// \error kInvalidArgument  the message says what is wrong
Status check_binding(const ModelBinding& binding);

/// Describes a feature: "price float32[3]"; "photo image[150, 150, 3]"; "age int64[] (0 where missing)".
std::string describe(const ModelFeature& feature);
/// Describes a binding for people, with a line for each input and target, and for the weights: "takes price
/// float32[3] as prices", "learns label int64[] by dense_1 (classes)", "weighs records by cost float32[]".
/// Leaves out the model's names if it has only one input, or only one output.
std::vector<std::string> describe(const ModelBinding& binding);

}  // namespace headrace
