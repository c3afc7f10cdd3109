#include "headrace/serve/protocol/kserve_v2.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string infer_route_text(std::string_view method, std::string_view path) {
  constexpr std::string_view kVerbs[] = {"server", "live", "ready", "model", "model ready", "infer"};
  const auto route = parse_infer_route(method, path);
  if (!route) return concat('<', code_name(route.error().code), ": ", route.error().message, '>');
  std::string out(kVerbs[static_cast<std::size_t>(route->verb)]);
  if (!route->model.name.empty()) out += concat(' ', route->model.name);
  if (route->model.version) out += concat(" version ", *route->model.version);
  if (route->model.label) out += concat(" label ", *route->model.label);
  return out;
}

TEST(InferRoute, ReadsThePathsOfTheProtocol) {
  struct Case {
    std::string_view method, path, expected;
  };
  const Case cases[] = {
      {"GET", "/v2", "server"},
      {"GET", "/v2/", "server"},
      {"GET", "/v2/health/live", "live"},
      {"GET", "/v2/health/ready?x", "ready"},
      {"GET", "/v2/models/m", "model m"},
      {"GET", "/v2/models/m/versions/3", "model m version 3"},
      {"GET", "/v2/models/m/ready", "model ready m"},
      {"GET", "/v2/models/m/versions/canary/ready", "model ready m label canary"},
      {"POST", "/v2/models/a%2fb/infer", "infer a/b"},
      {"POST", "/v2/models/m/versions/3/infer", "infer m version 3"},
      {"GET", "/v2/models/m/infer", "<INVALID_ARGUMENT: /v2/models/m/infer takes POST, not GET>"},
      {"POST", "/v2/models/m", "<INVALID_ARGUMENT: /v2/models/m takes GET, not POST>"},
      {"GET", "/v2/models/m/versions/9223372036854775808",
       "<INVALID_ARGUMENT: Failed to convert version: 9223372036854775808 to numeric.>"},
  };
  for (const auto& [method, path, expected] : cases)
    EXPECT_EQ(infer_route_text(method, path), expected) << path;
  for (const std::string_view path :
       {"", "/", "/v1", "/v2/models", "/v2/models/", "/v2/models//infer", "/v2/health", "/v2/health/live/x",
        "/v2/models/m/versions", "/v2/models/m/x", "/v2/models/m/versions/1/x", "/v2/models/m/ready/x", "v2"})
    EXPECT_EQ(infer_route_text("GET", path), concat("<NOT_FOUND: there is no path ", path, '>'));
}

TEST(InferTypes, HaveTheirNames) {
  EXPECT_EQ(infer_type_name(DataType::kFloat32), "FP32");
  EXPECT_EQ(infer_type_name(DataType::kComplex64), "");
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    const std::string_view name = infer_type_name(type);
    if (name.empty()) continue;
    EXPECT_EQ(parse_infer_type(name), type);
  }
  EXPECT_EQ(parse_infer_type("fp32"), std::nullopt);
  EXPECT_EQ(parse_infer_type(""), std::nullopt);
}

TEST(InferBodies, AreThoseOfTheProtocol) {
  EXPECT_EQ(infer_error_body({Code::kNotFound, "no \"m\""}), R"({"error":"no \"m\""})");
  EXPECT_EQ(infer_live_body(true), R"({"live":true})");
  EXPECT_EQ(infer_ready_body(false), R"({"ready":false})");
  EXPECT_EQ(infer_model_ready_body("m", true), R"({"name":"m","ready":true})");
  EXPECT_EQ(infer_server_body("1.2"),
            R"({"extensions":["binary_tensor_data"],"name":"headrace","version":"1.2"})");
  const ServedModel model{{{.name = "other", .inputs = {{"z", DataType::kInt8, {}}}},
                           {.name = "serving_default",
                            .inputs = {{"x", DataType::kFloat32, {-1, 3}}},
                            .outputs = {{"y", DataType::kComplex64, {-1}}},
                            .is_batched = true}}};
  EXPECT_EQ(infer_model_body("m", {3, 4}, model),
            R"({"inputs":[{"datatype":"FP32","name":"x","shape":[-1,3]}],"name":"m",)"
            R"("outputs":[{"datatype":"COMPLEX64","name":"y","shape":[-1]}],)"
            R"("platform":"tensorflow_savedmodel","versions":["3","4"]})");
  EXPECT_EQ(infer_model_body("m", {}, {{model.signatures[0]}}),
            R"({"inputs":[{"datatype":"INT8","name":"z","shape":[]}],"name":"m",)"
            R"("outputs":[],"platform":"tensorflow_savedmodel","versions":[]})");
  EXPECT_EQ(infer_model_body("m", {}, {}), R"({"inputs":[],"name":"m","outputs":[],)"
                                           R"("platform":"tensorflow_savedmodel","versions":[]})");
}

}  // namespace
}  // namespace headrace
