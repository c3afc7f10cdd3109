#include "headrace/serve/protocol/rest_v1.h"

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedPathBytes = 200;

// A path without its method: the model's part, and the verb after a colon or the last slash.
struct SplitRoute {
  std::vector<std::string_view> parts;  // after "v1"
  std::string_view verb{};              // after the colon
};

std::optional<SplitRoute> split_route(std::string_view path) {
  auto parts = split_path(path);
  if (!parts || parts->size() < 2 || !equals_ignoring_case((*parts)[0], "v1")) return std::nullopt;
  SplitRoute out{.parts = {parts->begin() + 1, parts->end()}};
  std::string_view& last = out.parts.back();
  const std::size_t colon = last.find(':');
  if (colon != last.npos) {
    out.verb = last.substr(colon + 1);
    last = last.substr(0, colon);
    if (out.verb.empty()) return std::nullopt;
  }
  const auto is_bad = [](std::string_view part) { return part.empty() || part.find(':') != part.npos; };
  if (std::any_of(out.parts.begin(), out.parts.end(), is_bad)) return std::nullopt;
  return out;
}

// Parses [M], [M, "versions", N] or [M, "labels", L]. nullopt for any other path.
Result<std::optional<RequestedModel>> parse_model(std::span<const std::string_view> parts,
                                                  bool are_versions_names) {
  if (parts.size() != 1 && parts.size() != 3) return std::optional<RequestedModel>();
  RequestedModel out{.name = decode_percent(parts[0])};
  if (parts.size() == 1) return std::optional(out);
  if (equals_ignoring_case(parts[1], "versions") && is_version_number(parts[2])) {
    HEADRACE_TRY(out.version, parse_version(parts[2]));
    return std::optional(out);
  }
  if (!equals_ignoring_case(parts[1], are_versions_names ? "versions" : "labels"))
    return std::optional<RequestedModel>();
  out.label = decode_percent(parts[2]);
  return std::optional(out);
}

std::optional<RestVerb> post_verb(std::string_view verb) {
  if (equals_ignoring_case(verb, "predict")) return RestVerb::kPredict;
  if (equals_ignoring_case(verb, "classify")) return RestVerb::kClassify;
  if (equals_ignoring_case(verb, "regress")) return RestVerb::kRegress;
  return std::nullopt;
}

std::string_view state_name(RestVersionState state) {
  switch (state) {
    case RestVersionState::kStart:
      return "START";
    case RestVersionState::kLoading:
      return "LOADING";
    case RestVersionState::kAvailable:
      return "AVAILABLE";
    case RestVersionState::kUnloading:
      return "UNLOADING";
    case RestVersionState::kEnd:
      break;
  }
  return "END";
}

// TensorFlow's name for a type.
std::string dtype_name(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "DT_FLOAT";
    case DataType::kFloat64:
      return "DT_DOUBLE";
    case DataType::kBytes:
      return "DT_STRING";
    case DataType::kFloat16:
      return "DT_HALF";
    default:
      break;
  }
  std::string name(data_type_name(type));
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  return "DT_" + name;
}

Json tensor_infos(const std::vector<ServedTensor>& tensors) {
  Json out = Json::object();
  for (const ServedTensor& tensor : tensors) {
    Json sizes = Json::array();
    for (const std::int64_t size : tensor.shape.sizes())
      sizes.push_back({{"size", concat(size)}, {"name", ""}});
    out[tensor.name] = Json{{"dtype", dtype_name(tensor.type)},
                            {"tensor_shape", Json{{"dim", std::move(sizes)}, {"unknown_rank", false}}},
                            {"name", tensor.name + ":0"}};
  }
  return out;
}

}  // namespace

Result<RestRoute> parse_rest_route(std::string_view method, std::string_view path) {
  const Error malformed{Code::kInvalidArgument,
                        concat("Malformed request: ", printable_line(method, kQuotedPathBytes), ' ',
                               printable_line(path, kQuotedPathBytes))};
  const auto route = split_route(path);
  if (!route) return malformed;
  std::span<const std::string_view> parts = route->parts;
  const bool is_project = parts.size() > 2 && equals_ignoring_case(parts[0], "projects");
  if (is_project) parts = parts.subspan(2);
  const bool has_location = is_project && parts.size() > 2 && equals_ignoring_case(parts[0], "locations");
  if (has_location) parts = parts.subspan(2);
  if (!equals_ignoring_case(parts[0], has_location ? "endpoints" : "models")) return malformed;
  parts = parts.subspan(1);
  RestVerb verb = RestVerb::kStatus;
  if (method == "POST") {
    const auto found = post_verb(route->verb);
    if (!found || (is_project && found != RestVerb::kPredict)) return malformed;
    verb = *found;
  } else if (method != "GET" || is_project || !route->verb.empty()) {
    return malformed;
  } else if (parts.empty()) {
    return Error{Code::kInvalidArgument, "Missing model name in request."};
  } else if (parts.size() % 2 == 0 && equals_ignoring_case(parts.back(), "metadata")) {
    verb = RestVerb::kMetadata;
    parts = parts.first(parts.size() - 1);
  }
  HEADRACE_TRY(const auto model, parse_model(parts, is_project));
  if (!model) return malformed;
  return RestRoute{*model, verb, has_location};
}

unsigned http_status(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kCancelled:
      return 499;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      break;
  }
  return 500;
}

std::string rest_error_body(const Error& error) {
  std::string out = R"({ "error": )";
  append_json_text(out, error.message);
  return out + " }";
}

std::string vertex_error_body(const Error& error) {
  return Json{{"error", Json{{"code", http_status(error.code)},
                             {"message", error.message},
                             {"status", code_name(error.code)}}}}
      .dump();
}

std::string rest_status_body(const std::vector<RestVersionStatus>& versions) {
  Json list = Json::array();
  for (const RestVersionStatus& each : versions) {
    const Json status = {{"error_code", each.error ? code_name(each.error->code) : "OK"},
                         {"error_message", each.error ? each.error->message : ""}};
    list.push_back(
        {{"version", concat(each.version)}, {"state", state_name(each.state)}, {"status", status}});
  }
  return Json{{"model_version_status", std::move(list)}}.dump();
}

std::string rest_metadata_body(std::string_view model, std::int64_t version, const ServedModel& served) {
  Json signatures = Json::object();
  for (const ServedSignature& signature : served.signatures) {
    signatures[signature.name] = Json{{"inputs", tensor_infos(signature.inputs)},
                                      {"outputs", tensor_infos(signature.outputs)},
                                      {"method_name", signature.method_name}};
  }
  const Json definitions = {{"signature_def", std::move(signatures)}};
  const Json specification = {{"name", model}, {"signature_name", ""}, {"version", concat(version)}};
  return Json{{"model_spec", specification}, {"metadata", Json{{"signature_def", definitions}}}}.dump();
}

}  // namespace headrace
