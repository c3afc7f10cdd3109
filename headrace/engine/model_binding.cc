#include "headrace/engine/model_binding.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"classes", "binary", "multi-label", "regression"};
constexpr std::array<std::string_view, 3> kScores = {"probability", "logit", "margin"};
constexpr std::int64_t kValuesMax = 1 << 30;  // the largest number of values in a row
constexpr std::array kFeatureTypes = {DataType::kFloat32, DataType::kInt64, DataType::kBytes,
                                      DataType::kUint8};

DataType type_from_json(const Json& from) {
  const auto name = from.as<std::string>("a dtype");
  for (const DataType type : kFeatureTypes) {
    if (data_type_name(type) == name) return type;
  }
  throw JsonError(concat("dtype is ", name, ", which no record has"));
}

TargetKind kind_from_json(const Json& from) {
  const auto name = from.as<std::string>("a kind");
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == name) return static_cast<TargetKind>(i);
  }
  throw JsonError(concat("kind is ", name, ", which is unknown"));
}

constexpr std::string_view kMaskSuffix = ":mask";

TargetScores scores_from_json(const Json& from) {
  const auto name = from.get_or("scores", std::string(kScores.front()));
  for (std::size_t i = 0; i < kScores.size(); ++i) {
    if (kScores[i] == name) return static_cast<TargetScores>(i);
  }
  throw JsonError(concat("scores are ", name, ", which are unknown"));
}

std::vector<std::int64_t> sizes_from_json(const Json& from) {
  return from.as<std::vector<std::int64_t>>("a shape");
}

ModelFeature feature_from_json(const Json& from) {
  return {.name = from.get<std::string>("name"),
          .type = type_from_json(from.at("dtype")),
          .shape = sizes_from_json(from.at("shape")),
          .classes = from.get_or("classes", 0),
          .is_one_hot = from.get_or("one_hot", false),
          .is_optional = from.get_or("optional", false),
          .is_ragged = from.get_or("ragged", false),
          .is_mask = from.get_or("mask", false)};
}

Error refusal(const std::string& message) { return {Code::kInvalidArgument, message}; }

Status check_sizes(std::string_view name, std::span<const std::int64_t> sizes, std::int64_t lowest) {
  if (sizes.size() >= Shape::kRankMax)
    return refusal(concat("the shape of ", name, " has too many dimensions"));
  std::int64_t values = 1;
  for (const std::int64_t size : sizes) {
    if (size < lowest || size > kValuesMax)
      return refusal(concat("the shape of ", name, " has the size ", size));
    values *= std::max<std::int64_t>(size, 1);
    if (values > kValuesMax) return refusal(concat("the shape of ", name, " has too many values"));
  }
  return {};
}

Status check_shape(const ModelFeature& feature) {
  const bool is_image = feature.type == DataType::kUint8;
  if (is_image && feature.shape.size() != 3)
    return refusal(concat("the image ", feature.name, " has no height, width and channels"));
  if (feature.is_ragged && (is_image || feature.shape.size() != 1 || feature.shape.front() == 0))
    return refusal(concat("the ragged feature ", feature.name, " must have a shape of one size"));
  if (feature.is_mask && is_image) return refusal(concat("the image ", feature.name, " has no mask"));
  return check_sizes(feature.name, feature.shape, feature.is_ragged ? -1 : 1);
}

bool is_number(const ModelFeature& feature) {
  return feature.type == DataType::kInt64 || feature.type == DataType::kFloat32;
}

Status check_labels(const ModelBinding& binding) {
  for (const ModelTarget& target : binding.targets) {
    const ModelFeature& label = target.label;
    if (label.is_ragged || label.is_mask) return refusal(concat("the label ", label.name, " is ragged"));
    if (!is_number(label)) return refusal(concat("the label ", describe(label), " has no numbers"));
    if (binding.find_output(target.output) == nullptr)
      return refusal(concat("a target names the output ", target.output, ", which does not exist"));
  }
  if (!binding.weights) return {};
  const ModelFeature& weights = *binding.weights;
  if (is_number(weights) && !weights.is_ragged && !weights.is_mask && weights.size() == 1) return {};
  return refusal(concat("the weights ", describe(weights), " are not one number"));
}

Status check_names(const ModelBinding& binding) {
  std::set<std::string> arguments, results, outputs;
  bool are_distinct = true;
  for (const ModelInput& input : binding.inputs)
    are_distinct = arguments.insert(input.tensor).second && are_distinct;
  for (const ModelTarget& target : binding.targets)
    are_distinct = arguments.insert(target.tensor).second && are_distinct;
  for (const ModelOutput& output : binding.outputs) {
    are_distinct = results.insert(output.tensor).second && are_distinct;
    are_distinct = outputs.insert(output.name).second && are_distinct;
  }
  if (are_distinct) return {};
  return refusal("two of its tensors or outputs have the same name");
}

}  // namespace

std::uint64_t ModelFeature::size() const {
  std::uint64_t size = 1;
  for (const std::int64_t each : shape) size *= static_cast<std::uint64_t>(each);
  return size;
}

std::optional<std::uint64_t> ModelOutput::size() const {
  std::uint64_t size = 1;
  for (const std::int64_t each : shape) {
    if (each < 0) return std::nullopt;
    size *= static_cast<std::uint64_t>(each);
  }
  return size;
}

const ModelOutput* ModelBinding::find_output(std::string_view name) const {
  const auto found = std::ranges::find(outputs, name, &ModelOutput::name);
  return found == outputs.end() ? nullptr : &*found;
}

std::vector<ModelFeature> ModelBinding::input_features() const {
  std::vector<ModelFeature> out;
  for (const ModelInput& input : inputs) out.push_back(input.feature);
  return out;
}

std::vector<ModelFeature> ModelBinding::step_features() const {
  std::vector<ModelFeature> out = input_features();
  for (const ModelTarget& target : targets) out.push_back(target.label);
  if (weights) out.push_back(*weights);
  return out;
}

std::vector<std::string> ModelBinding::step_tensors() const {
  std::vector<std::string> out;
  for (const ModelInput& input : inputs) out.push_back(input.tensor);
  for (const ModelTarget& target : targets) out.push_back(target.tensor);
  if (weights) out.emplace_back("record_weights");
  out.emplace_back("weights");
  return out;
}

std::string_view target_kind_name(TargetKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view target_scores_name(TargetScores scores) { return kScores[static_cast<std::size_t>(scores)]; }

Json to_json(const ModelFeature& feature) {
  Json out = {{"name", feature.name},          {"dtype", data_type_name(feature.type)},
              {"shape", feature.shape},        {"classes", feature.classes},
              {"one_hot", feature.is_one_hot}, {"optional", feature.is_optional}};
  if (feature.is_ragged) out["ragged"] = true;
  if (feature.is_mask) out["mask"] = true;
  return out;
}

std::optional<std::string_view> masked_feature(std::string_view name) {
  if (!name.ends_with(kMaskSuffix)) return std::nullopt;
  return name.substr(0, name.size() - kMaskSuffix.size());
}

std::vector<std::string> mask_names(const ModelFeature& feature) {
  if (feature.type == DataType::kUint8 || !(feature.is_ragged || feature.is_optional)) return {};
  return {concat(feature.name, kMaskSuffix), concat(feature.name, "_mask")};
}

Json to_json(const ModelBinding& binding) {
  Json out = {{"inputs", Json::array()}, {"targets", Json::array()}, {"outputs", Json::array()}};
  for (const ModelInput& input : binding.inputs) {
    out["inputs"].push_back(
        {{"tensor", input.tensor}, {"name", input.name}, {"feature", to_json(input.feature)}});
  }
  for (const ModelTarget& target : binding.targets) {
    Json added = {{"tensor", target.tensor},
                  {"output", target.output},
                  {"label", to_json(target.label)},
                  {"kind", target_kind_name(target.kind)}};
    if (target.scores != TargetScores::kProbability) added["scores"] = target_scores_name(target.scores);
    if (target.ignored_class) added["ignored_class"] = *target.ignored_class;
    out["targets"].push_back(std::move(added));
  }
  if (binding.weights) out["weights"] = to_json(*binding.weights);
  for (const ModelOutput& output : binding.outputs) {
    out["outputs"].push_back({{"tensor", output.tensor}, {"name", output.name}, {"shape", output.shape}});
  }
  return out;
}

namespace {

std::optional<std::int64_t> ignored_class_from_json(const Json& target) {
  if (!target.contains("ignored_class")) return std::nullopt;
  return target.get<std::int64_t>("ignored_class");
}

}  // namespace

ModelBinding binding_from_json(const Json& from) {
  ModelBinding out;
  for (const Json& input : from.at("inputs").values()) {
    out.inputs.push_back({input.get<std::string>("tensor"), input.get<std::string>("name"),
                          feature_from_json(input.at("feature"))});
  }
  for (const Json& target : from.at("targets").values()) {
    out.targets.push_back({target.get<std::string>("tensor"), target.get<std::string>("output"),
                           feature_from_json(target.at("label")), kind_from_json(target.at("kind")),
                           scores_from_json(target), ignored_class_from_json(target)});
  }
  for (const Json& output : from.at("outputs").values()) {
    out.outputs.push_back({output.get<std::string>("tensor"), output.get<std::string>("name"),
                           sizes_from_json(output.at("shape"))});
  }
  if (from.contains("weights")) out.weights = feature_from_json(from.at("weights"));
  if (const Status checked = check_binding(out); !checked) throw JsonError(checked.error().message);
  return out;
}

Status check_features(const std::vector<ModelFeature>& features) {
  std::map<std::string, ModelFeature> known;
  for (const ModelFeature& feature : features) {
    HEADRACE_CHECK(check_shape(feature));
    const ModelFeature& first = known.emplace(feature.name, feature).first->second;
    const bool is_same = first.type == feature.type && first.is_ragged == feature.is_ragged;
    if (is_same && (feature.is_ragged || first.shape == feature.shape)) continue;
    return refusal(concat("the feature ", describe(first), " occurs a second time as ", describe(feature)));
  }
  return {};
}

Status check_binding(const ModelBinding& binding) {
  if (binding.inputs.empty() || binding.outputs.empty()) return refusal("there are no inputs or no outputs");
  HEADRACE_CHECK(check_features(binding.step_features()));
  for (const ModelOutput& output : binding.outputs)
    HEADRACE_CHECK(check_sizes(output.name, output.shape, -1));
  HEADRACE_CHECK(check_labels(binding));
  return check_names(binding);
}

std::string describe(const ModelFeature& feature) {
  if (feature.is_mask) return concat("the mask of ", feature.name);
  if (feature.is_ragged) {
    const std::string cut =
        feature.shape.front() < 0 ? std::string() : concat(", filled up or cut to ", feature.shape.front());
    return concat(feature.name, " ", data_type_name(feature.type), "[any number", cut, "]");
  }
  std::vector<std::string> sizes;
  for (const std::int64_t size : feature.shape) sizes.push_back(size < 0 ? "?" : concat(size));
  const std::string_view type = feature.type == DataType::kUint8 ? "image" : data_type_name(feature.type);
  const std::string_view empty = feature.type == DataType::kBytes ? "empty" : "0";
  return concat(feature.name, " ", type, "[", join(sizes, ", "), "]",
                feature.is_optional ? concat(" (", empty, " where missing)") : "");
}

std::vector<std::string> describe(const ModelBinding& binding) {
  std::vector<std::string> lines;
  for (const ModelInput& input : binding.inputs)
    lines.push_back(concat("takes ", describe(input.feature),
                           binding.inputs.size() > 1 ? concat(" as ", input.name) : ""));
  for (const ModelTarget& target : binding.targets) {
    lines.push_back(concat("learns ", describe(target.label),
                           binding.outputs.size() > 1 ? concat(" by ", target.output) : "", " (",
                           target_kind_name(target.kind), ")"));
  }
  if (binding.weights) lines.push_back(concat("weighs records by ", describe(*binding.weights)));
  return lines;
}

}  // namespace headrace
