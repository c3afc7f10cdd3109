#include "headrace/serve/signature/served_signature.h"

#include <algorithm>
#include <optional>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kComplaint = "the description of the loaded model is damaged";

Error damaged(std::string detail) { return {Code::kDataLoss, concat(kComplaint, ": ", detail)}; }

std::optional<DataType> data_type_of(std::string_view name) {
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    if (data_type_name(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

Json tensors_json(const std::vector<ServedTensor>& tensors) {
  Json out = Json::array();
  for (const ServedTensor& tensor : tensors) {
    const std::span<const std::int64_t> sizes = tensor.shape.sizes();
    out.push_back({{"name", tensor.name},
                   {"type", data_type_name(tensor.type)},
                   {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  }
  return out;
}

Result<ServedTensor> parse_tensor(const Json& json) {
  ServedTensor out{.name = json.get<std::string>("name")};
  const auto type = data_type_of(json.get<std::string>("type"));
  if (!type) return damaged(concat("the type of ", out.name, " is unknown"));
  out.type = *type;
  const auto sizes = json.get<std::vector<std::int64_t>>("shape");
  const bool has_bad_size = std::ranges::any_of(sizes, [](std::int64_t size) { return size < -1; });
  if (sizes.size() > Shape::kRankMax || has_bad_size)
    return damaged(concat("the shape of ", out.name, " is not possible"));
  out.shape = Shape(sizes);
  return out;
}

bool ascends(const auto& named) {
  const auto is_behind = [](const auto& a, const auto& b) { return a.name >= b.name; };
  return std::adjacent_find(named.begin(), named.end(), is_behind) == named.end();
}

Result<std::vector<ServedTensor>> parse_tensors(const Json& json) {
  std::vector<ServedTensor> out;
  for (const Json& each : json.values()) {
    HEADRACE_TRY(ServedTensor tensor, parse_tensor(each));
    out.push_back(std::move(tensor));
  }
  if (!ascends(out)) return damaged("the tensors are not in ascending order of name");
  return out;
}

Status check_signature(const ServedSignature& signature) {
  for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
    for (const ServedTensor& tensor : *tensors) {
      const bool has_rows = tensor.shape.rank() > 0 && tensor.shape[0] == -1;
      if (signature.is_batched && !has_rows) return damaged(concat(tensor.name, " has no rows"));
    }
  }
  if (signature.inputs.empty()) return damaged(concat("the signature ", signature.name, " has no inputs"));
  if (!signature.takes_raw_rows()) return {};
  const ServedTensor rows{kRawRowsInput.data(), DataType::kBytes, {-1}};
  const bool is_right = signature.is_batched && signature.inputs == std::vector{rows};
  return is_right ? Status() : damaged(concat("raw rows of ", signature.name, " are not texts"));
}

Result<ServedSignature> parse_signature(const Json& json) {
  ServedSignature out{.name = json.get<std::string>("name")};
  HEADRACE_TRY(out.inputs, parse_tensors(json.at("inputs")));
  HEADRACE_TRY(out.outputs, parse_tensors(json.at("outputs")));
  out.is_batched = json.get<bool>("is_batched");
  for (const Json& column : json.at("columns").values()) {
    out.columns.push_back({.name = column.get<std::string>("name"),
                           .is_image = column.get<bool>("is_image"),
                           .is_needed = column.get<bool>("is_needed")});
  }
  out.method_name = json.get<std::string>("method_name");
  HEADRACE_CHECK(check_signature(out));
  return out;
}

}  // namespace

const ServedSignature* ServedModel::find(std::string_view signature) const {
  const auto found = std::ranges::find(signatures, signature, &ServedSignature::name);
  return found == signatures.end() ? nullptr : &*found;
}

Json to_json(const ServedModel& model) {
  Json signatures = Json::array();
  for (const ServedSignature& signature : model.signatures) {
    Json columns = Json::array();
    for (const ServedColumn& column : signature.columns) {
      columns.push_back(
          {{"name", column.name}, {"is_image", column.is_image}, {"is_needed", column.is_needed}});
    }
    signatures.push_back({{"name", signature.name},
                          {"inputs", tensors_json(signature.inputs)},
                          {"outputs", tensors_json(signature.outputs)},
                          {"is_batched", signature.is_batched},
                          {"columns", std::move(columns)},
                          {"method_name", signature.method_name}});
  }
  return {{"signatures", std::move(signatures)}};
}

Result<ServedModel> parse_served_model(std::string_view json) {
  return read_json(json, kComplaint, [](const Json& document) -> Result<ServedModel> {
    ServedModel out;
    for (const Json& each : document.at("signatures").values()) {
      HEADRACE_TRY(ServedSignature signature, parse_signature(each));
      out.signatures.push_back(std::move(signature));
    }
    if (out.signatures.empty()) return damaged("there is no signature");
    if (!ascends(out.signatures)) return damaged("the signatures are not in ascending order of name");
    return out;
  });
}

}  // namespace headrace
