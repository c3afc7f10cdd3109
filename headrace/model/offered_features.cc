#include "headrace/model/offered_features.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/model/assignments.h"
#include "headrace/model/contract.h"

namespace headrace {
namespace {

std::string shown(const FeatureSchema& schema) {
  std::string text = schema.dtype;
  for (const std::int64_t size : schema.shape.value_or(std::vector<std::int64_t>{}))
    text += concat("[", size, "]");
  return schema.shape ? text : text + "[any number]";
}

bool has(const std::vector<ModelFeature>& features, std::string_view name) {
  return std::ranges::find(features, name, &ModelFeature::name) != features.end();
}

Result<ModelFeature> named_label(const DatasetAttributes& data, const std::string& name) {
  HEADRACE_TRY(ModelFeature label, named_feature(data, "--labels", name));
  label.is_optional = false;  // a record without the label cannot be compared
  if (!label.is_ragged) return label;
  return Error{
      Code::kInvalidArgument,
      concat(
          "--labels ", name,
          ": it has a different number of values in each record, and a label needs the same number in all; "
          "give it a shape in the schema, and prepare the data again")};
}

// The label to use if none is named.
std::optional<std::string> usual_label(const DatasetAttributes& data) {
  if (data.features.contains("label")) return "label";
  if (data.vocabularies.size() == 1) return data.vocabularies.begin()->first;
  return std::nullopt;
}

Result<OfferedFeatures> offer(const DatasetAttributes& data, std::string_view features_option,
                              Assignments labels, std::string_view used_otherwise) {
  HEADRACE_TRY(Assignments features, parse_assignments("--features", features_option));
  OfferedFeatures out{.features = {},
                      .labels = {},
                      .inputs = std::move(features.by_name),
                      .outputs = std::move(labels.by_name)};
  for (const std::string& name : labels.values) {
    HEADRACE_TRY(ModelFeature label, named_label(data, name));
    out.labels.push_back(std::move(label));
  }
  for (const std::string& name : features.values) {
    const std::string of(masked_feature(name).value_or(name));
    HEADRACE_TRY(ModelFeature feature, named_feature(data, "--features", of));
    if (!has(out.features, of)) out.features.push_back(std::move(feature));
  }
  if (features.is_selection) return out;
  const std::string* const id = id_feature(data);
  for (const auto& [name, schema] : data.features) {
    const bool is_used = name == used_otherwise || has(out.labels, name) || has(out.features, name);
    if (&name != id && !is_used) out.features.push_back(*model_feature(data, name));
  }
  return out;
}

}  // namespace

std::string list_features(const DatasetAttributes& data) {
  std::vector<std::string> names;
  for (const auto& [name, schema] : data.features) names.push_back(concat(name, " ", shown(schema)));
  return join(names, ", ");
}

Result<OfferedFeatures> offer_inputs(const DatasetAttributes& data, std::string_view features,
                                     std::string_view labels) {
  HEADRACE_TRY(Assignments named, parse_assignments("--labels", labels));
  HEADRACE_TRY(const Assignments selected, parse_assignments("--features", features));
  const std::string usual = named.values.empty() ? usual_label(data).value_or("") : "";
  HEADRACE_TRY(OfferedFeatures out, offer(data, features, std::move(named), ""));
  if (std::ranges::find(selected.values, usual) == selected.values.end()) out.likely_label = usual;
  return out;
}

Result<ModelFeature> named_feature(const DatasetAttributes& data, std::string_view option,
                                   const std::string& name) {
  std::optional<ModelFeature> found = model_feature(data, name);
  if (found) return *std::move(found);
  return Error{
      Code::kInvalidArgument,
      concat(option, " ", name, ": there is no such feature; the dataset has ", list_features(data))};
}

Result<OfferedFeatures> offer_features(const DatasetAttributes& data, std::string_view features,
                                       std::string_view labels, std::string_view used_otherwise) {
  HEADRACE_TRY(Assignments named, parse_assignments("--labels", labels));
  if (named.values.empty()) {
    const std::optional<std::string> usual = usual_label(data);
    if (!usual)
      return Error{Code::kInvalidArgument, concat("--labels is missing: which of the features ",
                                                  list_features(data), " is the label?")};
    named.values.push_back(*usual);
  }
  return offer(data, features, std::move(named), used_otherwise);
}

}  // namespace headrace
