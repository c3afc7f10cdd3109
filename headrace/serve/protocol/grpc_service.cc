#include "headrace/serve/protocol/grpc_service.h"

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {
namespace {

constexpr std::size_t kGrpcMessageBytes = 1024;
constexpr std::string_view kPredictionService = "/tensorflow.serving.PredictionService/";
constexpr std::string_view kModelService = "/tensorflow.serving.ModelService/";
constexpr std::string_view kInferService = "/inference.GRPCInferenceService/";
constexpr std::string_view kHealthService = "/grpc.health.v1.Health/";

struct KnownMethod {
  std::string_view service, name;
  GrpcMethod method;
};
constexpr KnownMethod kKnownMethods[] = {
    {kPredictionService, "Predict", GrpcMethod::kPredict},
    {kPredictionService, "Classify", GrpcMethod::kClassify},
    {kPredictionService, "Regress", GrpcMethod::kRegress},
    {kPredictionService, "MultiInference", GrpcMethod::kMultiInference},
    {kPredictionService, "GetModelMetadata", GrpcMethod::kModelMetadata},
    {kModelService, "GetModelStatus", GrpcMethod::kModelStatus},
    {kInferService, "ServerLive", GrpcMethod::kInferServerLive},
    {kInferService, "ServerReady", GrpcMethod::kInferServerReady},
    {kInferService, "ModelReady", GrpcMethod::kInferModelReady},
    {kInferService, "ServerMetadata", GrpcMethod::kInferServerMetadata},
    {kInferService, "ModelMetadata", GrpcMethod::kInferModelMetadata},
    {kInferService, "ModelInfer", GrpcMethod::kInfer},
    {kHealthService, "Check", GrpcMethod::kHealthCheck},
};

struct MissingMethod {
  std::string_view service, name, advice;
};
constexpr MissingMethod kMissingMethods[] = {
    {kModelService, "HandleReloadConfigRequest",
     "this server takes its models from its command line: publish a version in the store"},
    {kInferService, "ModelStreamInfer", "this server answers one request at a time: use ModelInfer"},
    {kHealthService, "Watch", "this server does not stream its health: use Check"},
};

bool is_path(std::string_view path, std::string_view service, std::string_view name) {
  return path.starts_with(service) && path.substr(service.size()) == name;
}

}  // namespace

Result<GrpcMethod> parse_grpc_method(std::string_view path) {
  for (const KnownMethod& each : kKnownMethods) {
    if (is_path(path, each.service, each.name)) return each.method;
  }
  for (const MissingMethod& each : kMissingMethods) {
    if (is_path(path, each.service, each.name)) return Error{Code::kUnimplemented, std::string(each.advice)};
  }
  return Error{Code::kUnimplemented, concat("there is no method ", printable_line(path, 200))};
}

bool is_infer_method(std::string_view path) { return path.starts_with(kInferService); }

std::string grpc_message(const Error& error) {
  std::string text = replace_invalid_utf8(error.message).text;
  if (text.size() <= kGrpcMessageBytes) return text;
  std::size_t end = kGrpcMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

Error malformed_request() { return {Code::kInvalidArgument, "the request is not a well-formed message"}; }

Result<std::string> parse_health_request(BytesView message) {
  std::string service;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kBytes) service = field.as_text();
  }
  if (reader.malformed()) return malformed_request();
  return service;
}

Bytes health_response(bool is_serving) {
  Bytes out;
  WireWriter(out).varint(1, is_serving ? 1 : 2);
  return out;
}

}  // namespace headrace
