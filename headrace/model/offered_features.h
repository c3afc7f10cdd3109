#pragma once

/// \file The features and labels of a dataset to which a model may be bound, chosen by --features and
/// --labels.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/model_binding.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// Lists all features for people: "age float32, job int64[3]".
std::string list_features(const DatasetAttributes& data);

/// The feature that an option names.
/// \error kInvalidArgument  there is no such feature; the message lists those of the data
Result<ModelFeature> named_feature(const DatasetAttributes& data, std::string_view option,
                                   const std::string& name);

struct OfferedFeatures {
  std::vector<ModelFeature> features;  // the named ones first, in their order
  std::vector<ModelFeature> labels;
  std::map<std::string, std::string> inputs;   // input → feature, if the user named both
  std::map<std::string, std::string> outputs;  // output → label, likewise
  /// A feature that is likely a label: it is an input only if its name matches. Empty: none.
  std::string likely_label{};
};

/// Chooses the features and labels to offer. `features` and `labels` are the values of the options
/// (model/assignments.h). Without `labels`, the label is "label", else the only feature with a vocabulary.
/// Unless `features` is a selection, all other features are offered too, except labels, the id, and
/// `used_otherwise`.
/// \error kInvalidArgument  there is no such feature, a label is ragged, or no label can be found; the
///                          message lists the features of the data
Result<OfferedFeatures> offer_features(const DatasetAttributes& data, std::string_view features,
                                       std::string_view labels, std::string_view used_otherwise = {});
/// As offer_features, for a model that need not be compared with labels: only named labels are labels. The
/// feature that offer_features would take as the label may be an input if its name matches.
Result<OfferedFeatures> offer_inputs(const DatasetAttributes& data, std::string_view features,
                                     std::string_view labels);

}  // namespace headrace
