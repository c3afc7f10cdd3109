#include "headrace/serve/protocol/kserve_v2.h"

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

struct InferType {
  DataType type;
  std::string_view name;
};
constexpr InferType kInferTypes[] = {
    {DataType::kBool, "BOOL"},     {DataType::kUint8, "UINT8"},   {DataType::kUint16, "UINT16"},
    {DataType::kUint32, "UINT32"}, {DataType::kUint64, "UINT64"}, {DataType::kInt8, "INT8"},
    {DataType::kInt16, "INT16"},   {DataType::kInt32, "INT32"},   {DataType::kInt64, "INT64"},
    {DataType::kFloat16, "FP16"},  {DataType::kFloat32, "FP32"},  {DataType::kFloat64, "FP64"},
    {DataType::kBytes, "BYTES"},   {DataType::kBfloat16, "BF16"},
};

Json metadata_tensors(const std::vector<ServedTensor>& tensors) {
  Json out = Json::array();
  for (const ServedTensor& tensor : tensors) {
    const auto sizes = tensor.shape.sizes();
    out.push_back({{"name", tensor.name},
                   {"datatype", infer_metadata_type(tensor.type)},
                   {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  }
  return out;
}

// The verb of a path after "/v2", and the number of parts that name the model, or 0.
struct InferPath {
  InferVerb verb;
  std::size_t model_parts;
};

std::optional<InferPath> match_path(std::span<const std::string_view> parts) {
  if (parts.empty()) return InferPath{InferVerb::kServer, 0};
  if (parts[0] == "health" && parts.size() == 2) {
    if (parts[1] == "live") return InferPath{InferVerb::kServerLive, 0};
    if (parts[1] == "ready") return InferPath{InferVerb::kServerReady, 0};
  }
  if (parts[0] != "models" || parts.size() < 2 || parts[1].empty()) return std::nullopt;
  const bool has_version = parts.size() >= 4 && parts[2] == "versions" && !parts[3].empty();
  const std::size_t model_parts = has_version ? 4 : 2;
  if (parts.size() == model_parts) return InferPath{InferVerb::kModel, model_parts};
  if (parts.size() != model_parts + 1) return std::nullopt;
  if (parts.back() == "ready") return InferPath{InferVerb::kModelReady, model_parts};
  if (parts.back() == "infer") return InferPath{InferVerb::kInfer, model_parts};
  return std::nullopt;
}

}  // namespace

Result<InferRoute> parse_infer_route(std::string_view method, std::string_view path) {
  const auto quoted = [path] { return printable_line(path, 200); };
  auto parts = split_path(path);
  if (parts && parts->size() > 1 && parts->back().empty()) parts->pop_back();
  if (!parts || (*parts)[0] != "v2") return Error{Code::kNotFound, concat("there is no path ", quoted())};
  const std::span<const std::string_view> rest = std::span(*parts).subspan(1);
  const auto found = match_path(rest);
  if (!found) return Error{Code::kNotFound, concat("there is no path ", quoted())};
  const std::string_view wanted = found->verb == InferVerb::kInfer ? "POST" : "GET";
  if (method != wanted)
    return Error{Code::kInvalidArgument,
                 concat(quoted(), " takes ", wanted, ", not ", printable_line(method, 20))};
  InferRoute out{found->verb};
  if (found->model_parts == 0) return out;
  out.model.name = decode_percent(rest[1]);
  if (found->model_parts == 2) return out;
  if (is_version_number(rest[3])) {
    HEADRACE_TRY(out.model.version, parse_version(rest[3]));
  } else {
    out.model.label = decode_percent(rest[3]);
  }
  return out;
}

std::string_view infer_type_name(DataType type) {
  for (const InferType& each : kInferTypes) {
    if (each.type == type) return each.name;
  }
  return {};
}

std::optional<DataType> parse_infer_type(std::string_view name) {
  for (const InferType& each : kInferTypes) {
    if (each.name == name) return each.type;
  }
  return std::nullopt;
}

std::string infer_metadata_type(DataType type) {
  std::string name(infer_type_name(type));
  if (!name.empty()) return name;
  for (const char letter : data_type_name(type))
    name += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return name;
}

const ServedSignature* infer_metadata_signature(const ServedModel& served) {
  if (const ServedSignature* const signature = served.find(kDefaultSignature)) return signature;
  return served.signatures.empty() ? nullptr : &served.signatures[0];
}

std::string infer_error_body(const Error& error) {
  std::string out = R"({"error":)";
  append_json_text(out, error.message);
  return out + '}';
}

std::string infer_live_body(bool is_live) { return Json{{"live", is_live}}.dump(); }
std::string infer_ready_body(bool is_ready) { return Json{{"ready", is_ready}}.dump(); }
std::string infer_model_ready_body(std::string_view model, bool is_ready) {
  return Json{{"name", model}, {"ready", is_ready}}.dump();
}

std::string infer_server_body(std::string_view server_version) {
  return Json{
      {"name", "headrace"}, {"version", server_version}, {"extensions", Json::array({"binary_tensor_data"})}}
      .dump();
}

std::string infer_model_body(std::string_view model, const std::vector<std::int64_t>& versions,
                             const ServedModel& served) {
  const ServedSignature none;
  const ServedSignature* signature = infer_metadata_signature(served);
  if (signature == nullptr) signature = &none;
  Json numbers = Json::array();
  for (const std::int64_t version : versions) numbers.push_back(concat(version));
  return Json{{"name", model},
              {"versions", std::move(numbers)},
              {"platform", "tensorflow_savedmodel"},
              {"inputs", metadata_tensors(signature->inputs)},
              {"outputs", metadata_tensors(signature->outputs)}}
      .dump();
}

}  // namespace headrace
