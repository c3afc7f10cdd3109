#include "headrace/model/contract.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

DataType type_named(std::string_view name) {
  if (name == data_type_name(DataType::kInt64)) return DataType::kInt64;
  return name == data_type_name(DataType::kBytes) ? DataType::kBytes : DataType::kFloat32;
}

EncoderDescription encoder_of(const std::map<std::string, EncoderDescription>& encoders,
                              const std::string& feature) {
  const auto found = encoders.find(feature);
  return found == encoders.end() ? EncoderDescription() : found->second;
}

std::string described(const DatasetAttributes& data, const std::string& feature) {
  if (!data.features.contains(feature)) return "no such feature";
  return concat(describe(*model_feature(data, feature)));
}

Status check_feature(const ModelFeature& wanted, const DatasetAttributes& data, std::string_view where,
                     std::string_view role, std::string_view advice) {
  const auto found = model_feature(data, wanted.name);
  const bool fits = found && found->type == wanted.type && found->is_ragged == wanted.is_ragged;
  // Images are resized and rows padded, so any size or length fits.
  const bool has_any_size = wanted.type == DataType::kUint8 || wanted.is_ragged;
  if (fits && (has_any_size || found->shape == wanted.shape)) return {};
  return Error{Code::kInvalidArgument, concat("the model ", role, " ", describe(wanted), ", but ", where,
                                              " has ", described(data, wanted.name), advice)};
}

Status check_vocabulary(const ModelContract& contract, const std::string& feature,
                        const DatasetAttributes& data, std::string_view where) {
  const auto wanted = contract.vocabularies.find(feature);
  const auto found = data.vocabularies.find(feature);
  if (wanted == contract.vocabularies.end()) return {};
  if (found != data.vocabularies.end() && found->second == wanted->second) return {};
  const std::string classes = found == data.vocabularies.end() ? "unknown" : join(found->second, ", ");
  return Error{Code::kInvalidArgument,
               concat("the model was trained on the classes ", join(wanted->second, ", "), " of ", feature,
                      ", but those of ", where, " are ", classes)};
}

Status check_target(const ModelContract& contract, const ModelTarget& target) {
  constexpr std::uint64_t kMostScores = 1 << 22;  // each score has a name
  const ModelOutput& output = *contract.binding.find_output(target.output);
  if (target.kind != TargetKind::kRegression && output.size().value_or(0) > kMostScores)
    return Error{Code::kInvalidArgument,
                 concat("the output ", target.output, " has more than ", kMostScores, " scores")};
  if (fits_target(target.kind, output, target.label, class_names(contract, target).size())) return {};
  return Error{Code::kInvalidArgument,
               concat("the output ", target.output, " and the label ", describe(target.label),
                      " do not fit each other as ", target_kind_name(target.kind))};
}

}  // namespace

std::string describe(const EncoderDescription& encoder) {
  if (encoder.name.empty()) return "no encoder";
  return concat(encoder.name, " (weights ",
                encoder.weights_digest.empty() ? "none" : encoder.weights_digest.substr(0, 16), ")");
}

std::optional<ModelFeature> model_feature(const DatasetAttributes& data, const std::string& name) {
  const auto found = data.features.find(name);
  if (found == data.features.end()) return std::nullopt;
  if (found->second.is_image && found->second.shape)
    return ModelFeature{.name = name, .type = DataType::kUint8, .shape = {-1, -1, -1}};
  ModelFeature out{.name = name,
                   .type = type_named(found->second.dtype),
                   .shape = found->second.shape.value_or(std::vector<std::int64_t>{-1}),
                   .is_optional = found->second.is_optional,
                   .is_ragged = !found->second.shape};
  const auto vocabulary = data.vocabularies.find(name);
  if (vocabulary == data.vocabularies.end()) return out;
  out.classes = static_cast<int>(vocabulary->second.size());
  out.is_one_hot = !out.shape.empty() && !out.is_ragged;
  return out;
}

ModelContract make_contract(const ModelBinding& binding, std::vector<std::string> metrics,
                            const DatasetAttributes& data) {
  ModelContract out{.binding = binding, .metrics = std::move(metrics), .schema = data.schema};
  for (const ModelInput& input : binding.inputs) {
    const auto encoder = data.encoders.find(input.feature.name);
    if (encoder != data.encoders.end()) out.encoders.insert(*encoder);
  }
  for (const ModelFeature& feature : binding.step_features()) {
    const auto vocabulary = data.vocabularies.find(feature.name);
    if (vocabulary != data.vocabularies.end()) out.vocabularies.insert(*vocabulary);
  }
  for (const ModelTarget& target : binding.targets) {
    const auto label = data.features.find(target.label.name);
    if (label != data.features.end() && !label->second.columns.empty())
      out.label_columns[target.label.name] = label->second.columns;
  }
  return out;
}

Json to_json(const ModelContract& contract) {
  Json out = to_json(contract.binding);
  out["metrics"] = contract.metrics;
  out["vocabularies"] = contract.vocabularies;
  out["label_columns"] = contract.label_columns;
  out["encoders"] = encoders_to_json(contract.encoders);
  out["schema"] = contract.schema;
  return out;
}

Result<ModelContract> parse_contract(std::string_view text) {
  return read_json(text, "attributes", [](const Json& from) -> Result<ModelContract> {
    ModelContract out{.binding = binding_from_json(from),
                      .metrics = from.get<std::vector<std::string>>("metrics"),
                      .encoders = encoders_from_json(from.at("encoders")),
                      .schema = from.get<std::string>("schema")};
    out.label_columns = from.get_or("label_columns", out.label_columns);
    out.vocabularies = from.get<std::map<std::string, std::vector<std::string>>>("vocabularies");
    if (out.metrics.empty()) return Error{Code::kDataLoss, "metrics is empty"};
    const Status checked = check_contract(out);
    if (!checked) return Error{Code::kDataLoss, checked.error().message};
    return out;
  });
}

bool fits_target(TargetKind kind, const ModelOutput& output, const ModelFeature& label, std::size_t classes) {
  const std::uint64_t values = label.size(), scores = output.size().value_or(0);
  if (scores == 0) return false;
  switch (kind) {
    case TargetKind::kClasses:
      return output.shape.size() == 1 && scores == classes && (values == 1 || values == scores);
    case TargetKind::kBinary:
      return scores == 1 && classes == 2 && (values == 1 || (label.is_one_hot && values == 2));
    case TargetKind::kMultiLabel:
      return scores == values && scores == classes;
    case TargetKind::kRegression:
      return scores == values;
  }
  return false;
}

Status check_contract(const ModelContract& contract) {
  HEADRACE_CHECK(check_binding(contract.binding));
  for (const ModelTarget& target : contract.binding.targets) HEADRACE_CHECK(check_target(contract, target));
  return {};
}

std::vector<std::string> class_names(const ModelContract& contract, const ModelTarget& target) {
  if (target.kind == TargetKind::kRegression) return {};
  const auto vocabulary = contract.vocabularies.find(target.label.name);
  if (vocabulary != contract.vocabularies.end()) return vocabulary->second;
  const ModelOutput* const output = contract.binding.find_output(target.output);
  const std::uint64_t scores = output == nullptr ? 0 : output->size().value_or(0);
  const auto columns = contract.label_columns.find(target.label.name);
  const bool are_columns = target.kind == TargetKind::kMultiLabel && columns != contract.label_columns.end();
  if (are_columns && columns->second.size() == scores) return columns->second;
  const std::uint64_t count = target.kind == TargetKind::kBinary ? 2 : scores;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(concat(i));
  return names;
}

Json binding_with_classes(const ModelContract& contract) {
  Json out = to_json(contract.binding);
  for (std::size_t i = 0; i < contract.binding.targets.size(); ++i)
    out["targets"].values()[i]["classes"] = class_names(contract, contract.binding.targets[i]);
  return out;
}

Status check_inputs(const ModelContract& contract, const DatasetAttributes& data, std::string_view where) {
  for (const ModelInput& input : contract.binding.inputs) {
    const std::string& name = input.feature.name;
    HEADRACE_CHECK(check_vocabulary(contract, name, data, where));
    HEADRACE_CHECK(check_feature(input.feature, data, where, "takes", ""));
    const EncoderDescription wanted = encoder_of(contract.encoders, name);
    const EncoderDescription found = encoder_of(data.encoders, name);
    if (wanted == found) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the model was trained on vectors of ", describe(wanted), " in ", name, ", but ",
                        where, " was prepared with ", describe(found))};
  }
  return {};
}

Status check_targets(const ModelContract& contract, const DatasetAttributes& data, std::string_view where) {
  for (const ModelTarget& target : contract.binding.targets) {
    HEADRACE_CHECK(check_vocabulary(contract, target.label.name, data, where));
    HEADRACE_CHECK(check_feature(target.label, data, where, "is compared with",
                                 "; headrace predict answers records without labels"));
  }
  return {};
}

}  // namespace headrace
