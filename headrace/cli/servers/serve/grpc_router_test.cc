#include "headrace/cli/servers/serve/grpc_router.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/live_model/test_model_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPredictPath = "/tensorflow.serving.PredictionService/Predict";
constexpr std::string_view kRegressPath = "/tensorflow.serving.PredictionService/Regress";
constexpr std::string_view kInferPath = "/inference.GRPCInferenceService/ModelInfer";
constexpr std::string_view kCheckPath = "/grpc.health.v1.Health/Check";

class TestCall final : public GrpcCall {
 public:
  using Metadata = std::map<std::string, std::string, std::less<>>;
  TestCall(std::string_view method, Bytes message, Metadata metadata, steady_clock::time_point deadline,
           std::promise<Result<Bytes>> answer)
      : method_(method),
        message_(std::move(message)),
        metadata_(std::move(metadata)),
        deadline_(deadline),
        answer_(std::move(answer)) {}
  std::string_view method() const override { return method_; }
  BytesView message() const override { return message_; }
  std::optional<std::string_view> metadata(std::string_view name) const override {
    const auto found = metadata_.find(name);
    if (found == metadata_.end()) return std::nullopt;
    return found->second;
  }
  steady_clock::time_point received() const override { return received_; }
  steady_clock::time_point deadline() const override { return deadline_; }
  Status reserve_answer(std::uint64_t bytes) override {
    if (bytes <= answer_bytes_max) return {};
    return Error{Code::kResourceExhausted, concat("an answer of ", bytes, " bytes")};
  }
  void send(Result<Bytes> answer, std::chrono::nanoseconds) override { answer_.set_value(std::move(answer)); }

  static inline std::atomic<std::uint64_t> answer_bytes_max = 1 << 20;

 private:
  const std::string method_;
  const Bytes message_;
  const Metadata metadata_;
  const steady_clock::time_point received_ = steady_clock::now();
  const steady_clock::time_point deadline_;
  std::promise<Result<Bytes>> answer_;
};

class GrpcRouterTest : public testing::Test {
 protected:
  GrpcRouterTest() { serve({3}, nullptr); }
  ~GrpcRouterTest() override { end(); }

  // A model must not end in a thread that answers.
  void end() {
    models_.publish({});
    while (entry_.use_count() > 1) std::this_thread::yield();
    entry_ = nullptr;
  }

  void serve(const std::vector<std::uint64_t>& versions, std::shared_ptr<Canary> canary) {
    end();
    entry_ = std::make_shared<const ServedEntry>(
        ServedEntry{.live = start_test_model("m", versions), .canary = std::move(canary)});
    models_.publish({.models = {{"m", entry_}}});
    while (entry_->live->ready_versions().size() < versions.size()) std::this_thread::yield();
  }

  // The answer in hexadecimal, or the error.
  std::string ask(const GrpcRouter& router, std::string_view method, Bytes message,
                  const TestCall::Metadata& metadata = {},
                  steady_clock::time_point deadline = steady_clock::time_point::max()) {
    std::promise<Result<Bytes>> promise;
    auto answer = promise.get_future();
    router.answer(
        std::make_unique<TestCall>(method, std::move(message), metadata, deadline, std::move(promise)));
    const Result<Bytes> got = answer.get();
    if (got) return std::string(as_text(*got));
    return concat('<', code_name(got.error().code), ": ", got.error().message, '>');
  }

  std::shared_ptr<const ServedEntry> entry_;
  ServedModels models_;
  ServingMetrics metrics_;
};

// A PredictRequest with x = [1.5, 2.5].
Bytes predict_message(std::string_view model) {
  constexpr float kValues[] = {1.5F, 2.5F};
  Bytes out;
  WireWriter writer(out);
  writer.message(1, [&](WireWriter& specification) { specification.text(1, model); });
  writer.message(2, [&](WireWriter& entry) {
    entry.text(1, "x");
    entry.message(2, [&](WireWriter& tensor) {
      tensor.varint(1, 1);
      tensor.message(2, [&](WireWriter& shape) {
        shape.message(2, [&](WireWriter& dimension) { dimension.varint(1, 2); });
      });
      tensor.bytes(4, std::as_bytes(std::span(kValues)));
    });
  });
  return out;
}

Bytes health_message(std::string_view service) {
  Bytes out;
  WireWriter(out).text(1, service);
  return out;
}

std::string floats_text() {
  constexpr float kValues[] = {1.5F, 2.5F};
  return std::string(as_text(std::as_bytes(std::span(kValues))));
}

TEST_F(GrpcRouterTest, CallsAreAnsweredByTheModelTheyName) {
  const GrpcRouter router(models_, metrics_, {});
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")), HasSubstr(floats_text()));
  EXPECT_THAT(ask(router, kPredictPath, predict_message("n")),
              StartsWith("<NOT_FOUND: no model n is served"));
  EXPECT_THAT(ask(router, "/a/b", {}), StartsWith("<UNIMPLEMENTED"));
  EXPECT_THAT(ask(router, kInferPath, {}), StartsWith("<INVALID_ARGUMENT"));
}

TEST_F(GrpcRouterTest, ADeadlineThatHasPassedEndsACall) {
  const GrpcRouter router(models_, metrics_, {});
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m"), {}, steady_clock::now() - milliseconds(1)),
              StartsWith("<DEADLINE_EXCEEDED"));
}

TEST_F(GrpcRouterTest, AnAnswerForWhichThereIsNoMemoryIsNotMade) {
  const GrpcRouter router(models_, metrics_, {});
  TestCall::answer_bytes_max = 10;
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")),
              StartsWith("<RESOURCE_EXHAUSTED: an answer of "));
  TestCall::answer_bytes_max = 1 << 20;
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")), HasSubstr(floats_text()));
}

TEST_F(GrpcRouterTest, AnswersAreCountedByProtocolAndStatus) {
  const GrpcRouter router(models_, metrics_, {});
  ask(router, kPredictPath, predict_message("m"));
  ask(router, kPredictPath, predict_message("n"));
  ask(router, kRegressPath, {});
  const std::string text = metrics_.text(models_, {});
  EXPECT_THAT(text,
              AllOf(HasSubstr(R"(_count{model="m",protocol="grpc-predict",api="predict",status="200"} 1)"),
                    HasSubstr(R"(_count{model="",protocol="grpc-predict",api="predict",status="404"} 1)"),
                    HasSubstr(R"(_count{model="",protocol="grpc-predict",api="regress",status="400"} 1)")));
}

TEST_F(GrpcRouterTest, ADrainingServerIsNotServingButAnswers) {
  GrpcRouter router(models_, metrics_, {});
  EXPECT_EQ(ask(router, kCheckPath, {}), "\x08\x01");
  EXPECT_EQ(ask(router, kCheckPath, health_message("m")), "\x08\x01");
  EXPECT_THAT(ask(router, kCheckPath, health_message("n")), StartsWith("<NOT_FOUND"));
  router.begin_drain();
  EXPECT_EQ(ask(router, kCheckPath, {}), "\x08\x02");
  EXPECT_EQ(ask(router, kCheckPath, health_message("m")), "\x08\x02");
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")), HasSubstr(floats_text()));
}

TEST_F(GrpcRouterTest, TokensAreAskedForExceptByProbes) {
  const std::string path = testing::TempDir() + "/grpc_router_tokens";
  std::ofstream(path) << "aaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbb other\n";
  const auto tokens = AccessTokens::open(path, std::chrono::hours(1), [](const std::string&) {});
  ASSERT_TRUE(tokens) << tokens.error().message;
  const GrpcRouter router(models_, metrics_, {.tokens = tokens->get()});
  const std::string good = "Bearer aaaaaaaaaaaaaaaaaaaa";
  const std::string other = "Bearer bbbbbbbbbbbbbbbbbbbb";
  EXPECT_TRUE(router.judge(kCheckPath, std::nullopt));
  EXPECT_TRUE(router.judge(kPredictPath, good));
  EXPECT_TRUE(router.judge(kPredictPath, other));
  EXPECT_EQ(router.judge(kPredictPath, std::nullopt).error().code, Code::kUnauthenticated);
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m"), {{"authorization", good}}),
              HasSubstr(floats_text()));
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m"), {{"authorization", other}}),
              StartsWith("<PERMISSION_DENIED"));
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")), StartsWith("<UNAUTHENTICATED"));
}

TEST_F(GrpcRouterTest, ClientsAreOnOneSideOfACanaryByTheirMetadata) {
  const auto canary = std::make_shared<Canary>(
      "m", CanaryOptions{.version = 4U, .weight = kFullShare / 2, .sticky_header = "X-User"},
      [](const std::string&) {});
  serve({3, 4}, canary);
  const GrpcRouter router(models_, metrics_, {});
  std::uint64_t drawn = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string user = concat("user ", i);
    ask(router, kPredictPath, predict_message("m"), {{"X-User", user}});
    drawn += canary->draws(user) ? 1 : 0;
  }
  while (entry_.use_count() > 2) std::this_thread::yield();
  EXPECT_EQ(canary->counts().requests, drawn);
  EXPECT_GT(drawn, 0U);
  EXPECT_LT(drawn, 20U);
}

}  // namespace
}  // namespace headrace
