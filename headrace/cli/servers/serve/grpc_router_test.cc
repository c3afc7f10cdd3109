#include "headrace/cli/servers/serve/grpc_router.h"

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/echo_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPredictPath = "/tensorflow.serving.PredictionService/Predict";
constexpr std::string_view kInferPath = "/inference.GRPCInferenceService/ModelInfer";
constexpr std::string_view kCheckPath = "/grpc.health.v1.Health/Check";

// Answers with its inputs, from a thread of its own.
class EchoingModel final : public LoadedModel, public BatchRunner {
 public:
  const ServedModel& model() const override { return model_; }
  BatchRunner& runner(std::size_t) override { return *this; }
  void end() override {}
  std::optional<Error> ended() const override { return std::nullopt; }
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    return std::shared_ptr<BatchMemory>(std::make_shared<EchoMemory>(size_bytes));
  }
  void run(ClosedBatch batch, Done done) override {
    const std::scoped_lock lock(mutex_);
    threads_.emplace_back([batch = std::move(batch), done = std::move(done)] {
      std::vector<std::vector<std::string_view>> texts;
      auto inputs = tensors_of(batch.layout, batch.memory->bytes(), batch.rows, texts);
      done(echo_inputs(*std::move(inputs), batch.memory));
    });
  }

 private:
  const ServedModel model_{{{.name = "serving_default",
                             .inputs = {{"x", DataType::kFloat32, {-1}}},
                             .outputs = {{"x", DataType::kFloat32, {-1}}},
                             .is_batched = true}}};
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
};

// Version 3, and no other.
class OneVersion final : public ModelSource {
 public:
  OneVersion() {
    auto version = std::make_shared<WantedVersion>();
    version->number = 3;
    version->digest = "digest";
    wanted_.versions.push_back(std::move(version));
  }
  Result<bool> poll(const CallOptions&) override { return false; }
  const WantedVersions& wanted() const override { return wanted_; }
  std::string describe() const override { return "a test"; }

 private:
  WantedVersions wanted_;
};

class TestCall final : public GrpcCall {
 public:
  TestCall(std::string_view method, Bytes message, std::optional<std::string> authorization,
           steady_clock::time_point deadline, std::promise<Result<Bytes>> answer)
      : method_(method),
        message_(std::move(message)),
        authorization_(std::move(authorization)),
        deadline_(deadline),
        answer_(std::move(answer)) {}
  std::string_view method() const override { return method_; }
  BytesView message() const override { return message_; }
  std::optional<std::string_view> authorization() const override { return authorization_; }
  std::optional<std::string_view> traceparent() const override { return {}; }
  steady_clock::time_point received() const override { return received_; }
  steady_clock::time_point deadline() const override { return deadline_; }
  void send(Result<Bytes> answer, std::chrono::nanoseconds) override { answer_.set_value(std::move(answer)); }

 private:
  const std::string method_;
  const Bytes message_;
  const std::optional<std::string> authorization_;
  const steady_clock::time_point received_ = steady_clock::now();
  const steady_clock::time_point deadline_;
  std::promise<Result<Bytes>> answer_;
};

class GrpcRouterTest : public testing::Test {
 protected:
  GrpcRouterTest() {
    LiveModelParts parts;
    parts.open_source = [](const CallOptions&) {
      return Result<std::unique_ptr<ModelSource>>(std::make_unique<OneVersion>());
    };
    parts.load = [](const auto&...) {
      return Result<std::unique_ptr<LoadedModel>>(std::make_unique<EchoingModel>());
    };
    parts.remark = [](const std::string&) {};
    models_.add(std::make_unique<LiveModel>("m", std::move(parts), LiveModelOptions{}));
    while (!models_.are_ready()) std::this_thread::yield();
  }

  // The answer in hexadecimal, or the error.
  std::string ask(const GrpcRouter& router, std::string_view method, Bytes message,
                  std::optional<std::string> authorization = {},
                  steady_clock::time_point deadline = steady_clock::time_point::max()) {
    std::promise<Result<Bytes>> promise;
    auto answer = promise.get_future();
    router.answer(std::make_unique<TestCall>(method, std::move(message), std::move(authorization), deadline,
                                             std::move(promise)));
    const Result<Bytes> got = answer.get();
    if (got) return std::string(as_text(*got));
    return concat('<', code_name(got.error().code), ": ", got.error().message, '>');
  }

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

TEST_F(GrpcRouterTest, AnswersAreCountedByProtocolAndStatus) {
  const GrpcRouter router(models_, metrics_, {});
  ask(router, kPredictPath, predict_message("m"));
  ask(router, kPredictPath, predict_message("n"));
  const std::string text = metrics_.text(models_, {});
  EXPECT_THAT(text, AllOf(HasSubstr(R"(_count{model="m",protocol="grpc-predict",status="200"} 1)"),
                          HasSubstr(R"(_count{model="",protocol="grpc-predict",status="404"} 1)")));
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
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m"), good), HasSubstr(floats_text()));
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m"), other), StartsWith("<PERMISSION_DENIED"));
  EXPECT_THAT(ask(router, kPredictPath, predict_message("m")), StartsWith("<UNAUTHENTICATED"));
}

}  // namespace
}  // namespace headrace
