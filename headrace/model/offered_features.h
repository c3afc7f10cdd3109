#pragma once

/// \file The features and labels of a dataset that a model may be bound to, as --features and --labels say.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/model_binding.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// For people: "age float32, job int64[3]".
std::string list_features(const DatasetAttributes& data);

/// The feature that an option names.
/// \error kInvalidArgument  there is none; lists those that the data have
Result<ModelFeature> named_feature(const DatasetAttributes& data, std::string_view option,
                                   const std::string& name);

struct OfferedFeatures {
  std::vector<ModelFeature> features;  // those that were named first, in their order
  std::vector<ModelFeature> labels;
  std::map<std::string, std::string> inputs;   // input → feature, where the user named both
  std::map<std::string, std::string> outputs;  // output → label
  /// A feature that is an input only where its name says so, since it is likely a label. Empty: none.
  std::string likely_label{};
};

/// `features` and `labels` are the values of the options: model/assignments.h. Without labels, "label" is
/// meant, or the only feature with a vocabulary. Unless features are selected, all others are offered, but
/// for labels, the id, and `used_otherwise`.
/// \error kInvalidArgument  there is no such feature, a label is ragged, or no label is meant; lists those
///                          that the data have
Result<OfferedFeatures> offer_features(const DatasetAttributes& data, std::string_view features,
                                       std::string_view labels, std::string_view used_otherwise = {});
/// The same, where a model need not be compared with labels: labels are only those that are named. The one
/// that would else be meant may be an input, by its name.
Result<OfferedFeatures> offer_inputs(const DatasetAttributes& data, std::string_view features,
                                     std::string_view labels);

}  // namespace headrace
