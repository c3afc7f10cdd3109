#pragma once

/// \file Inputs and outputs of a model by name: the features of a record that become inputs, and the labels
/// that outputs are compared with. JSON: docs/formats/traced-model.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// A feature of the data, as a loader gives it: [rows, *shape].
struct ModelFeature {
  std::string name;
  DataType type = DataType::kFloat32;  // kFloat32, kInt64, kBytes, or kUint8: pixels of a decoded image
  /// The shape of a row; empty: one value. Pixels have height, width and channels, -1 where the model
  /// decides. Ragged: one size, to which rows are filled up with 0 or empty byte strings, or cut; -1: that of
  /// the longest row of the batch.
  std::vector<std::int64_t> shape{};
  int classes = 0;          // of a label with a vocabulary
  bool is_one_hot = false;  // a label of `classes` values, one of which is 1
  /// A record may lack it; its values are then 0 or empty byte strings. No label is optional, and no image.
  bool is_optional = false;
  bool is_ragged = false;  // each record has any number of values
  /// The model takes the mask instead of the values: float32, 1 for a value of the record, 0 for one that
  /// fills a row up or stands for one that is missing.
  bool is_mask = false;

  /// Values of a row. REQUIRES: the shape is known
  std::uint64_t size() const;
  bool operator==(const ModelFeature&) const = default;
};

/// An input of the model and the feature that it takes.
struct ModelInput {
  std::string tensor;  // in the signatures
  std::string name;    // the model's
  ModelFeature feature;
};

/// The kinds of things that an output learns.
enum class TargetKind : std::uint8_t {
  kClasses,     // a score for each of several classes, of which one is right
  kBinary,      // one score: yes or no
  kMultiLabel,  // a score for each of several labels, of which any number apply
  kRegression,  // numbers
};

/// "classes", "binary", "multi-label", "regression".
std::string_view target_kind_name(TargetKind kind);

/// The meaning of an output's numbers; kRegression has none.
enum class TargetScores : std::uint8_t {
  kProbability,  // 0.5 lies between no and yes
  kLogit,        // the sigmoid, or of classes the softmax, is the probability
  kMargin,       // 0 lies between no and yes, as a hinge loss has them; the label may have -1 for no
};

/// "probability", "logit", "margin".
std::string_view target_scores_name(TargetScores scores);

/// A label, and the output that a loss compares it with.
struct ModelTarget {
  std::string tensor;
  std::string output;  // its name
  ModelFeature label;
  TargetKind kind = TargetKind::kClasses;
  TargetScores scores = TargetScores::kProbability;
  /// A number of a class that the loss leaves out (Keras' ignore_class), whatever classes there are.
  std::optional<std::int64_t> ignored_class{};
};

struct ModelOutput {
  std::string tensor;
  std::string name;
  std::vector<std::int64_t> shape;  // of a row; -1: open

  /// Values of a row; none if a size is open.
  std::optional<std::uint64_t> size() const;
};

struct ModelBinding {
  std::vector<ModelInput> inputs;
  std::vector<ModelTarget> targets;
  std::vector<ModelOutput> outputs;
  /// The feature that weighs records in the loss and in weighted metrics: one number, float32 or int64.
  std::optional<ModelFeature> weights{};

  /// The arguments of `predict`: the features of the inputs, in their order.
  std::vector<ModelFeature> input_features() const;
  /// The columns of a batch that train_step and eval_step take: these, then the labels of the targets, then
  /// the weights of records, if there are any.
  std::vector<ModelFeature> step_features() const;
  /// The names of the arguments of train_step and eval_step: those columns, then the weights of rows.
  std::vector<std::string> step_tensors() const;
  /// Null: there is none of that name.
  const ModelOutput* find_output(std::string_view name) const;
};

Json to_json(const ModelFeature& feature);
/// "tokens", if `name` is "tokens:mask": how options name the mask of a feature.
std::optional<std::string_view> masked_feature(std::string_view name);
/// The names of a feature's mask: in options, and of an input that takes it unasked. None: it has no mask.
std::vector<std::string> mask_names(const ModelFeature& feature);
/// The members "inputs", "targets", "outputs" and, where it has them, "weights" of an object.
Json to_json(const ModelBinding& binding);
/// \throws JsonError  a member is missing or of another type, or check_binding refuses the binding
ModelBinding binding_from_json(const Json& from);

/// Whether each shape is known and has at most 2^30 values, and whether a feature that occurs twice has one
/// type and shape. BatchTensors (stream/batch_tensors.h) relies on it.
/// \error kInvalidArgument  says which feature
Status check_features(const std::vector<ModelFeature>& features);
/// The same of all features of a binding, and the rest that its users rely on: labels and weights are
/// numbers, each target has an output, and no two tensors or outputs have one name.
/// \error kInvalidArgument  says what is wrong
Status check_binding(const ModelBinding& binding);

/// "price float32[3]"; "photo image[150, 150, 3]"; "age int64[] (0 where missing)".
std::string describe(const ModelFeature& feature);
/// For people, a line for each input and target, and for the weights: "takes price float32[3] as prices",
/// "learns label int64[] by dense_1 (classes)", "weighs records by cost float32[]"; without names of the
/// model where it has one input, or one output.
std::vector<std::string> describe(const ModelBinding& binding);

}  // namespace headrace
