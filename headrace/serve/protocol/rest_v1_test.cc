#include "headrace/serve/protocol/rest_v1.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::HasSubstr;

std::string route_text(std::string_view method, std::string_view path) {
  constexpr std::string_view kVerbs[] = {"predict", "classify", "regress", "status", "metadata"};
  const auto route = parse_rest_route(method, path);
  if (!route) return concat('<', code_name(route.error().code), ": ", route.error().message, '>');
  std::string out = concat(kVerbs[static_cast<std::size_t>(route->verb)], ' ', route->model.name);
  if (route->model.version) out += concat(" version ", *route->model.version);
  if (route->model.label) out += concat(" label ", *route->model.label);
  return out;
}

TEST(RestRoute, ReadsThePathsOfTensorFlowServing) {
  struct Case {
    std::string_view method, path, expected;
  };
  const Case cases[] = {
      {"POST", "/v1/models/m:predict", "predict m"},
      {"POST", "/V1/Models/M/Versions/12:Predict", "predict M version 12"},
      {"POST", "/v1/models/m/labels/stable:classify", "classify m label stable"},
      {"POST", "/v1/models/m/labels/a%2Fb%zz%4:regress?x=1", "regress m label a/b%zz%4"},
      {"POST", "/v1/models/my%20model%3A:predict", "predict my model:"},
      {"POST", "/v1/models/versions:predict", "predict versions"},
      {"GET", "/v1/models/m", "status m"},
      {"GET", "/v1/models/m/versions/9223372036854775807", "status m version 9223372036854775807"},
      {"GET", "/v1/models/m/labels/canary", "status m label canary"},
      {"GET", "/v1/models/m/metadata", "metadata m"},
      {"GET", "/v1/models/m/versions/3/METADATA", "metadata m version 3"},
      {"GET", "/v1/models/metadata", "status metadata"},
      {"POST", "/v1/projects/p/models/m:predict", "predict m"},
      {"POST", "/v1/projects/p/models/m/versions/7:predict", "predict m version 7"},
      {"POST", "/v1/projects/p/locations/l/endpoints/m:predict", "predict m"},
      {"POST", "/v1/projects/p/models/m/versions/v7:predict", "predict m label v7"},
  };
  for (const auto& [method, path, expected] : cases) EXPECT_EQ(route_text(method, path), expected) << path;
}

TEST(RestRoute, RefusesOtherPaths) {
  const std::pair<std::string_view, std::string_view> paths[] = {
      {"POST", "/v1/models/m"},
      {"POST", "/v1/models/m:explain"},
      {"POST", "/v1/models/m:"},
      {"POST", "/v1/models/m:predict:predict"},
      {"POST", "/v1/models/:predict"},
      {"POST", "/v1/models:predict"},
      {"POST", "/v1/models/m/versions/x:predict"},
      {"POST", "/v1/models/m/versions/1/labels/a:predict"},
      {"POST", "/v1/models/m/versions:predict"},
      {"POST", "/v1/projects/p/models/m:classify"},
      {"POST", "/v1/projects/p:predict"},
      {"POST", "/v1/projects/p/locations/l:predict"},
      {"POST", "/v1/projects/p/locations/l/models/m:predict"},
      {"POST", "/v1/projects/p/endpoints/m:predict"},
      {"POST", "/v1/locations/l/endpoints/m:predict"},
      {"GET", "/v1/models/m:predict"},
      {"GET", "/v1/models/m/"},
      {"GET", "/v1/models//metadata"},
      {"GET", "/v1/models/m/versions/1/other"},
      {"GET", "/v1/projects/p/models/m"},
      {"GET", "/v1"},
      {"GET", "/v2/models/m"},
      {"GET", "/"},
      {"GET", ""},
      {"GET", "v1/models/m"},
      {"DELETE", "/v1/models/m"},
      {"get", "/v1/models/m"},
  };
  for (const auto& [method, path] : paths)
    EXPECT_EQ(route_text(method, path),
              concat("<INVALID_ARGUMENT: Malformed request: ", method, ' ', path, '>'));
  EXPECT_EQ(route_text("GET", "/v1/models"), "<INVALID_ARGUMENT: Missing model name in request.>");
  EXPECT_EQ(route_text("POST", "/v1/models/m/versions/9223372036854775808:predict"),
            "<INVALID_ARGUMENT: Failed to convert version: 9223372036854775808 to numeric.>");
}

TEST(RestErrors, HaveTheirStatusAndBody) {
  const std::pair<Code, unsigned> cases[] = {
      {Code::kCancelled, 499},        {Code::kUnknown, 500},           {Code::kInvalidArgument, 400},
      {Code::kDeadlineExceeded, 504}, {Code::kNotFound, 404},          {Code::kAlreadyExists, 409},
      {Code::kPermissionDenied, 403}, {Code::kResourceExhausted, 429}, {Code::kFailedPrecondition, 400},
      {Code::kAborted, 409},          {Code::kOutOfRange, 400},        {Code::kUnimplemented, 501},
      {Code::kInternal, 500},         {Code::kUnavailable, 503},       {Code::kDataLoss, 500},
      {Code::kUnauthenticated, 401}};
  for (const auto& [code, status] : cases) EXPECT_EQ(http_status(code), status) << code_name(code);
  EXPECT_EQ(rest_error_body({Code::kNotFound, "no \"m\"\n"}), R"({ "error": "no \"m\"\n" })");
  EXPECT_EQ(vertex_error_body({Code::kNotFound, "no \"m\"\n"}),
            R"({"error":{"code":404,"message":"no \"m\"\n","status":"NOT_FOUND"}})");
  EXPECT_TRUE(parse_rest_route("POST", "/v1/projects/p/locations/l/endpoints/m:predict")->is_vertex);
  EXPECT_FALSE(parse_rest_route("POST", "/v1/projects/p/models/m:predict")->is_vertex);
}

TEST(RestStatus, ListsVersions) {
  EXPECT_EQ(
      rest_status_body({{3, RestVersionState::kAvailable},
                        {4, RestVersionState::kEnd, Error{Code::kNotFound, "no file"}}}),
      R"({"model_version_status":[)"
      R"({"state":"AVAILABLE","status":{"error_code":"OK","error_message":""},"version":"3"},)"
      R"({"state":"END","status":{"error_code":"NOT_FOUND","error_message":"no file"},"version":"4"}]})");
  EXPECT_EQ(rest_status_body({}), R"({"model_version_status":[]})");
}

TEST(RestMetadata, HasTheFormOfSignatureDef) {
  const ServedModel model{{{.name = "serving_default",
                            .inputs = {{"x", DataType::kFloat32, {-1, 3}}},
                            .outputs = {{"y", DataType::kBytes, {-1}}},
                            .is_batched = true}}};
  EXPECT_EQ(rest_metadata_body("m", 12, model),
            R"({"metadata":{"signature_def":{"signature_def":{"serving_default":{)"
            R"("inputs":{"x":{"dtype":"DT_FLOAT","name":"x:0","tensor_shape":)"
            R"({"dim":[{"name":"","size":"-1"},{"name":"","size":"3"}],"unknown_rank":false}}},)"
            R"("method_name":"tensorflow/serving/predict",)"
            R"("outputs":{"y":{"dtype":"DT_STRING","name":"y:0","tensor_shape":)"
            R"({"dim":[{"name":"","size":"-1"}],"unknown_rank":false}}}}}}},)"
            R"("model_spec":{"name":"m","signature_name":"","version":"12"}})");
}

}  // namespace
}  // namespace headrace
