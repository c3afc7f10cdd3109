#include "headrace/model/inferred_contract.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/engine/tensor_cast.h"
#include "headrace/model/assignments.h"

namespace headrace {
namespace {

constexpr std::int64_t kUsualChannels = 3;

using Sizes = std::vector<std::int64_t>;

// The shape of a row; nullopt: the rank is open.
std::optional<Sizes> row_shape(const TensorInfo& info) {
  if (!info.shape) return std::nullopt;
  const std::span<const std::int64_t> sizes = info.shape->sizes();
  return Sizes(sizes.begin() + (sizes.empty() ? 0 : 1), sizes.end());
}

bool is_open(const Sizes& shape) {
  return std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; });
}

std::uint64_t product(const Sizes& shape) {
  std::uint64_t out = 1;
  for (const std::int64_t size : shape) out *= static_cast<std::uint64_t>(size);
  return out;
}

// Such as "age int32[?, 3]".
std::string described(const std::string& name, const TensorInfo& info) {
  return concat(name, " ", data_type_name(info.type), info.shape ? info.shape->text() : "");
}

bool is_floating(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBfloat16 || type == DataType::kFloat32 ||
         type == DataType::kFloat64;
}

bool accepts_sizes(const Sizes& wanted, const Sizes& shape) {
  return std::ranges::equal(wanted, shape,
                            [](std::int64_t want, std::int64_t have) { return want < 0 || want == have; });
}

bool takes(const TensorInfo& info, const ModelFeature& feature) {
  const DataType type = feature.is_mask ? DataType::kFloat32 : feature.type;
  if ((type == DataType::kBytes) != (info.type == DataType::kBytes)) return false;
  if (type == DataType::kFloat32 && !is_floating(info.type) && info.type != DataType::kBool) return false;
  const std::optional<Sizes> shape = row_shape(info);
  if (!shape) return true;
  if (feature.type == DataType::kUint8) {
    return shape->size() == 3 &&
           std::ranges::equal(*shape, feature.shape, [](std::int64_t want, std::int64_t have) {
             return want < 0 || have < 0 || want == have;
           });
  }
  if (feature.is_ragged) return shape->size() == 1;
  if (is_open(*shape)) return accepts_sizes(*shape, feature.shape);
  return product(*shape) == feature.size();
}

// Whether the input may take the feature if the user does not name it. Rows are cut, and masks taken, only on
// request.
bool fits(const TensorInfo& info, const ModelFeature& feature) {
  const std::optional<Sizes> shape = row_shape(info);
  const bool is_cut = feature.is_ragged && shape && !is_open(*shape);
  return takes(info, feature) && !is_cut && !feature.is_mask;
}

// The feature in the size that the input takes: this sets the size of images and ragged features.
Result<ModelFeature> sized(const std::string& input, const TensorInfo& info, ModelFeature feature) {
  if (feature.is_ragged) feature.shape = row_shape(info).value_or(Sizes{-1});
  if (feature.type != DataType::kUint8) return feature;
  const Sizes shape = row_shape(info).value_or(Sizes{-1, -1, -1});
  for (std::size_t i = 0; i < feature.shape.size(); ++i) {
    if (feature.shape[i] < 0) feature.shape[i] = shape[i];
  }
  if (feature.shape[0] < 0 || feature.shape[1] < 0)
    return Error{Code::kInvalidArgument,
                 concat("the input ", input,
                        " takes images of any size: export the model with a height and a "
                        "width in its signature")};
  if (feature.shape[2] < 0) feature.shape[2] = kUsualChannels;
  return feature;
}

// One side of a match.
struct Side {
  std::vector<std::string> names;
  std::vector<std::string> texts;  // for messages
};

struct Match {
  Side wanted;  // each item gets one of the offered ones
  Side offered;
  std::vector<std::optional<std::string>> asked;  // for each wanted item, the user's choice
  std::function<bool(std::size_t wanted, std::size_t offered)> takes;  // allows a match by name
  std::function<bool(std::size_t wanted, std::size_t offered)> fits;   // allows a match without a name
  // For messages: both lists with their headings, and the option that states the choice.
  std::string advice;

  Error error(std::string_view reason) const {
    return {Code::kInvalidArgument, concat(reason, "\n", advice)};
  }
};

// For each wanted item, the place of the offered item that it gets.
using Bound = std::vector<std::optional<std::size_t>>;

std::optional<std::size_t> place_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

Status bind_named(const Match& match, Bound& bound) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    bound[i] = place_of(match.offered.names, match.asked[i].value_or(match.wanted.names[i]));
    if (!bound[i] && match.asked[i]) return match.error(concat("there is no ", *match.asked[i]));
    if (bound[i] && !match.takes(i, *bound[i]))
      return match.error(
          concat(match.wanted.texts[i], " and ", match.offered.texts[*bound[i]], " do not fit each other"));
  }
  return {};
}

// Binds each remaining wanted item to the only free offered item that fits it.
Status bind_the_rest(const Match& match, Bound& bound) {
  const Bound named = bound;
  const auto is_free = [&](std::size_t offer) { return std::ranges::find(named, offer) == named.end(); };
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i]) continue;
    std::size_t count = 0;
    bool has_rivals = false;
    for (std::size_t offer = 0; offer < match.offered.names.size(); ++offer) {
      if (!is_free(offer) || !match.fits(i, offer)) continue;
      bound[i] = offer;
      ++count;
      for (std::size_t other = 0; other < named.size(); ++other)
        has_rivals = has_rivals || (other != i && !named[other] && match.fits(other, offer));
    }
    if (count == 0) return match.error(concat("nothing fits ", match.wanted.texts[i]));
    if (count > 1 || has_rivals)
      return match.error(concat("it is not clear what belongs to ", match.wanted.names[i]));
  }
  return {};
}

// For each wanted item, the place of the offered item that it gets. The header gives the rules.
Result<std::vector<std::size_t>> find_match(const Match& match) {
  Bound bound(match.wanted.names.size());
  HEADRACE_CHECK(bind_named(match, bound));
  HEADRACE_CHECK(bind_the_rest(match, bound));
  std::vector<std::size_t> out;
  for (const std::optional<std::size_t>& each : bound) out.push_back(*each);
  return out;
}

std::string listed(std::string_view head, const std::vector<std::string>& texts) {
  return concat(head, "\n  ", texts.empty() ? "none" : join(texts, "\n  "), "\n");
}

std::string example(std::string_view option, const std::vector<std::string>& names,
                    const std::vector<std::string>& others, std::string_view other) {
  std::vector<std::string> parts;
  for (const std::string& name : names)
    parts.push_back(concat(name, "=", place_of(others, name) ? name : other));
  return concat("Say which goes where: ", option, " ", join(parts, ","));
}

Status check_takes_rows(const std::string& name, const TensorInfo& info) {
  if (info.type != DataType::kBytes && !is_castable(info.type))
    return Error{Code::kInvalidArgument, concat("the model takes ", described(name, info),
                                                ", and no feature can be cast to that type")};
  if (!info.shape || (info.shape->rank() > 0 && (*info.shape)[0] < 0)) return {};
  return Error{Code::kInvalidArgument,
               concat("the model takes ", described(name, info),
                      ", which does not begin with an open number of rows: export it with a signature whose "
                      "inputs begin with None")};
}

// The type of a record's feature that such an input takes.
const char* record_type(DataType type) {
  if (type == DataType::kBytes) return "bytes";
  return is_floating(type) ? "float32" : "int64";
}

// Whether an output has numbers for each row.
bool is_answer(const TensorInfo& info) {
  return is_castable(info.type) && info.shape && info.shape->rank() > 0 && (*info.shape)[0] < 0;
}

// The kind of target for an output with this many scores and this label, if they fit each other.
TargetKind likely_kind(std::uint64_t scores, const ModelFeature& label) {
  if (label.classes > 0) return scores > 1 ? TargetKind::kClasses : TargetKind::kBinary;
  if (label.type == DataType::kFloat32) return TargetKind::kRegression;
  if (scores == 1) return TargetKind::kBinary;
  return label.size() == 1 ? TargetKind::kClasses : TargetKind::kMultiLabel;
}

// nullopt: they do not fit each other.
std::optional<TargetKind> kind_of(const ModelOutput& output, const ModelFeature& label) {
  const std::uint64_t scores = output.size().value_or(0);
  if (scores == 0 || label.type == DataType::kBytes || label.type == DataType::kUint8) return std::nullopt;
  const TargetKind kind = likely_kind(scores, label);
  const std::uint64_t numbered = kind == TargetKind::kBinary ? 2 : scores;
  const auto classes = label.classes > 0 ? static_cast<std::uint64_t>(label.classes) : numbered;
  return fits_target(kind, output, label, classes) ? std::optional(kind) : std::nullopt;
}

// A name for the label's argument that no input has.
std::string label_tensor(const ModelBinding& binding, const std::string& output) {
  std::string name = concat("labels_", output);
  while (std::ranges::find(binding.inputs, name, &ModelInput::tensor) != binding.inputs.end()) name += "_";
  return name;
}

std::string described(const ModelOutput& output) {
  return concat(output.name, " ", Shape(output.shape).text());
}

}  // namespace

Result<DatasetAttributes> taken_features(const Signature& signature, std::string_view features) {
  HEADRACE_TRY(const Assignments named, parse_assignments("--features", features));
  DatasetAttributes out;
  for (const auto& [name, info] : signature.inputs) {
    HEADRACE_CHECK(check_takes_rows(name, info));
    const std::optional<Sizes> shape = row_shape(info);
    const bool is_image = info.type == DataType::kUint8 && shape && shape->size() == 3;
    if (!is_image && (!shape || is_open(*shape)))
      return Error{
          Code::kInvalidArgument,
          concat("the model takes ", described(name, info),
                 ", whose size is open, and the data have no manifest that gives it: name a dataset of "
                 "such records with --like")};
    const auto found = named.by_name.find(name);
    out.features[found == named.by_name.end() ? name : found->second] =
        is_image ? FeatureSchema{.dtype = "bytes", .shape = Sizes{}, .is_image = true}
                 : FeatureSchema{.dtype = record_type(info.type), .shape = shape};
  }
  return out;
}

Result<std::vector<ModelInput>> bind_inputs(const Signature& signature, const OfferedFeatures& offered) {
  Match match;
  std::vector<const TensorInfo*> infos;
  for (const auto& [name, info] : signature.inputs) {
    HEADRACE_CHECK(check_takes_rows(name, info));
    match.wanted.names.push_back(name);
    match.wanted.texts.push_back(described(name, info));
    const auto asked = offered.inputs.find(name);
    match.asked.push_back(asked == offered.inputs.end() ? std::nullopt : std::optional(asked->second));
    infos.push_back(&info);
  }
  std::vector<ModelFeature> features = offered.features;
  for (const ModelFeature& feature : features) {
    match.offered.names.push_back(feature.name);
    match.offered.texts.push_back(describe(feature));
  }
  match.advice = concat(listed("the model has the inputs", match.wanted.texts),
                        listed("the data have", match.offered.texts),
                        example("--features", match.wanted.names, match.offered.names, "FEATURE"));
  for (const ModelFeature& feature : offered.features) {
    for (const std::string& name : mask_names(feature)) {
      features.push_back(feature);
      features.back().is_mask = true;
      match.offered.names.push_back(name);
      match.offered.texts.push_back(describe(features.back()));
    }
  }
  match.takes = [&](std::size_t input, std::size_t feature) {
    return takes(*infos[input], features[feature]);
  };
  match.fits = [&](std::size_t input, std::size_t feature) {
    return fits(*infos[input], features[feature]) && features[feature].name != offered.likely_label;
  };
  for (const auto& [input, feature] : offered.inputs) {
    if (!signature.inputs.contains(input)) return match.error(concat("there is no input ", input));
  }
  HEADRACE_TRY(const std::vector<std::size_t> found, find_match(match));
  std::vector<ModelInput> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = match.wanted.names[i];
    HEADRACE_TRY(ModelFeature feature, sized(name, *infos[i], features[found[i]]));
    out.push_back({.tensor = name, .name = name, .feature = std::move(feature)});
  }
  HEADRACE_CHECK(check_features(ModelBinding{.inputs = out, .targets = {}, .outputs = {}}.input_features()));
  return out;
}

Result<ModelContract> infer_contract(const Signature& signature, std::vector<ModelInput> inputs,
                                     const DatasetAttributes& data) {
  ModelBinding binding{.inputs = std::move(inputs), .targets = {}, .outputs = {}};
  for (const auto& [name, info] : signature.outputs) {
    if (is_answer(info)) binding.outputs.push_back({.tensor = name, .name = name, .shape = *row_shape(info)});
  }
  if (!binding.outputs.empty()) {
    ModelContract out = make_contract(binding, {}, data);
    HEADRACE_CHECK(check_contract(out));
    return out;
  }
  std::vector<std::string> outputs;
  for (const auto& [name, info] : signature.outputs) outputs.push_back(described(name, info));
  return Error{Code::kInvalidArgument,
               concat("the model returns ", outputs.empty() ? "nothing" : join(outputs, ", "),
                      ", but no output has numbers for each row")};
}

Status add_targets(ModelContract& contract, const OfferedFeatures& offered, const DatasetAttributes& data) {
  ModelBinding& binding = contract.binding;
  Match match;
  std::vector<const ModelFeature*> labels;
  const auto want = [&](const ModelFeature& label, std::optional<std::string> output) {
    labels.push_back(&label);
    match.wanted.names.push_back(label.name);
    match.wanted.texts.push_back(describe(label));
    match.asked.push_back(std::move(output));
  };
  for (const ModelFeature& label : offered.labels) {
    const std::size_t before = labels.size();
    for (const auto& [output, name] : offered.outputs) {
      if (name == label.name) want(label, output);
    }
    if (labels.size() == before) want(label, std::nullopt);
  }
  for (const ModelOutput& output : binding.outputs) {
    match.offered.names.push_back(output.name);
    match.offered.texts.push_back(described(output));
  }
  match.takes = match.fits = [&](std::size_t label, std::size_t output) {
    return kind_of(binding.outputs[output], *labels[label]).has_value();
  };
  match.advice = concat(listed("the labels are", match.wanted.texts),
                        listed("the model has the outputs", match.offered.texts),
                        example("--labels", match.offered.names, match.wanted.names, "LABEL"));
  HEADRACE_TRY(const std::vector<std::size_t> found, find_match(match));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ModelOutput& output = binding.outputs[found[i]];
    if (std::ranges::find(binding.targets, output.name, &ModelTarget::output) != binding.targets.end())
      return match.error(concat("two labels belong to the output ", output.name));
    binding.targets.push_back({.tensor = label_tensor(binding, output.name),
                               .output = output.name,
                               .label = *labels[i],
                               .kind = *kind_of(output, *labels[i])});
  }
  contract = make_contract(ModelBinding(binding), {}, data);
  return check_contract(contract);
}

}  // namespace headrace
