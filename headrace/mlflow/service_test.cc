#include "headrace/mlflow/service.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/open_parts.h"
#include "headrace/mlflow/state_log.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace::mlflow {
namespace {

// The store of the states and the artifacts, not of the records and metrics.
class TroubledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (on_write) on_write();
    return ForwardingStore::write(key, data, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (are_artifacts_gone && prefix.find("/artifacts/") != prefix.npos)
      return Error{Code::kUnavailable, "out of reach"};
    return ForwardingStore::list(prefix, options, visit);
  }
  std::function<void()> on_write;
  std::atomic<bool> are_artifacts_gone = false;
};

class TrackingServiceTest : public testing::Test {
 protected:
  TrackingServiceTest() { start(); }
  ~TrackingServiceTest() override { std::filesystem::remove_all(journals_); }

  // As a process that starts again, after a kill if the one before was not closed.
  void start() {
    service_.reset();
    TrackingServiceOptions options{.root = root(), .root_url = std::string(kRoot)};
    options.root.store = store_;
    options.stores = &stores_;
    options.journals = journals_;
    options.command_line = {"headrace", "serve-mlflow"};
    options.version = "1";
    options.now = [this] {
      return std::chrono::system_clock::time_point(std::chrono::milliseconds(++now_ms_));
    };
    options.remark = [](const std::string&) {};
    service_.emplace(std::move(options));
    service_->recover({});
  }

  ApiAnswer ask(std::string_view method, std::string_view path, std::string body = {}) {
    const std::size_t size = body.size();
    body.append(kBodyPaddingBytes, '\0');
    return service_->answer({.method = method,
                             .target = concat("/api/2.0/", path),
                             .body = std::string_view(body).substr(0, size)},
                            {});
  }
  Json good(std::string_view method, std::string_view path, const std::string& body = {}) {
    const ApiAnswer answer = ask(method, path, body);
    EXPECT_EQ(answer.status, 200U) << path << ": " << answer.body;
    return *parse_json(answer.body);
  }
  std::string code(std::string_view method, std::string_view path, const std::string& body = {}) {
    const ApiAnswer answer = ask(method, path, body);
    return concat(answer.status, " ", parse_json(answer.body)->get_or("error_code", ""));
  }
  std::string new_run() { return good("POST", "mlflow/runs/create", "{}")["run"]["info"]["run_id"].text(); }
  Location root() { return *stores_.open(kRoot); }
  // Points of metrics m0, m1 … at steps from `first` on.
  static std::string batch(const std::string& run, int metrics, int first, int steps) {
    Json::Array points;
    for (int step = first; step < first + steps; ++step) {
      for (int i = 0; i < metrics; ++i)
        points.push_back({{"key", concat("m", i)}, {"value", 0.5}, {"timestamp", 1000}, {"step", step}});
    }
    return Json({{"run_id", run}, {"metrics", std::move(points)}}).dump();
  }
  std::size_t count(const std::string& run, const std::string& metric) {
    return good("GET", concat("mlflow/metrics/get-history?metric_key=", metric, "&run_id=", run))["metrics"]
        .values()
        .size();
  }
  static std::string ending(const std::string& run) {
    return Json({{"run_id", run}, {"status", "FINISHED"}}).dump();
  }
  static std::string point(const std::string& run, double value, int step) {
    return Json({{"run_id", run}, {"key", "loss"}, {"value", value}, {"timestamp", 1000}, {"step", step}})
        .dump();
  }
  std::vector<double> history(const std::string& run) {
    std::vector<double> values;
    const Json answer = good("GET", concat("mlflow/metrics/get-history?metric_key=loss&run_id=", run));
    for (const Json& each : answer["metrics"].values()) values.push_back(each.get<double>("value"));
    return values;
  }

  static constexpr std::string_view kRoot = "memory://runs";
  const std::string journals_ =
      std::filesystem::temp_directory_path() / ("headrace-" + hex64(random_name_bits()));
  std::atomic<std::int64_t> now_ms_ = 1'795'000'000'000;  // requests of several threads look at it
  StoreRegistry stores_{Environment{}};
  const std::shared_ptr<TroubledStore> store_ = std::make_shared<TroubledStore>(root().store);
  std::optional<TrackingService> service_;
};

TEST_F(TrackingServiceTest, ARunIsLoggedAndEnds) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  good("POST", "mlflow/runs/log-metric", point(run, 0.25, 0));
  good("POST", "mlflow/runs/update", Json({{"run_id", run}, {"status", "FINISHED"}, {"end_time", 5}}).dump());
  const Json found = good("GET", concat("mlflow/runs/get?run_id=", run))["run"];
  EXPECT_EQ(found["info"]["status"], Json("FINISHED"));
  EXPECT_EQ(found["info"]["end_time"], Json(5));
  EXPECT_EQ(found["data"]["metrics"].at(0)["value"], Json(0.5));
  EXPECT_EQ(history(run), (std::vector<double>{0.5, 0.25}));
}

TEST_F(TrackingServiceTest, PointsOfAServiceThatWasKilledAreThereOnce) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  start();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));  // its answer was lost
  good("POST", "mlflow/runs/log-metric", point(run, 0.25, 2));
  EXPECT_EQ(history(run), (std::vector<double>{0.5, 0.25}));
  start();
  EXPECT_EQ(history(run), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(good("GET", concat("mlflow/runs/get?run_id=", run))["run"]["info"]["status"], Json("RUNNING"));
}

TEST_F(TrackingServiceTest, AClosedServiceLeavesNothingOnTheMachine) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  EXPECT_TRUE(service_->close().empty());
  EXPECT_TRUE(std::filesystem::is_empty(journals_));
  start();
  EXPECT_EQ(history(run), (std::vector<double>{0.5}));
}

TEST_F(TrackingServiceTest, ARunThatCouldNotBeEndedIsEndedByARepetition) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  store_->are_artifacts_gone = true;
  EXPECT_EQ(ask("POST", "mlflow/runs/update", ending(run)).status, 503U);
  store_->are_artifacts_gone = false;
  EXPECT_FALSE(std::filesystem::is_empty(journals_));
  good("POST", "mlflow/runs/update", ending(run));
  EXPECT_TRUE(std::filesystem::is_empty(journals_));
  EXPECT_EQ(history(run), (std::vector<double>{0.5}));
}

TEST_F(TrackingServiceTest, PartsThatCouldNotBeEndedAreEndedWhenTheServiceCloses) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  store_->are_artifacts_gone = true;
  EXPECT_EQ(ask("POST", "mlflow/runs/update", ending(run)).status, 503U);
  good("POST", "mlflow/runs/log-metric", point(run, 0.25, 2));  // into another part
  EXPECT_EQ(service_->close().size(), 2U);
  store_->are_artifacts_gone = false;
  EXPECT_TRUE(service_->close().empty());
  EXPECT_TRUE(std::filesystem::is_empty(journals_));
  EXPECT_EQ(history(run), (std::vector<double>{0.5, 0.25}));
}

TEST_F(TrackingServiceTest, APointThatIsLoggedWhileTheRunEndsIsItsLastValue) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  std::thread client;
  store_->on_write = [&] {  // of the state that says how the run has ended
    if (client.joinable()) return;
    client = std::thread([&] { good("POST", "mlflow/runs/log-metric", point(run, 0.25, 2)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  good("POST", "mlflow/runs/update", ending(run));
  store_->on_write = nullptr;
  client.join();
  const auto last = [&] {
    return good("GET", concat("mlflow/runs/get?run_id=", run))["run"]["data"]["metrics"].at(0)["value"];
  };
  EXPECT_EQ(last(), Json(0.25));
  EXPECT_TRUE(service_->close().empty());
  EXPECT_EQ(last(), Json(0.25));
}

TEST_F(TrackingServiceTest, ABatchOfManyMetricsIsThereOnceAfterAKill) {
  constexpr int kMetrics = 10, kSteps = 100, kBatches = 21;
  const std::string run = new_run();
  for (int i = 0; i < kBatches; ++i)
    good("POST", "mlflow/runs/log-batch", batch(run, kMetrics, i * kSteps, kSteps));
  start();
  good("POST", "mlflow/runs/log-batch", batch(run, kMetrics, (kBatches - 1) * kSteps, kSteps));
  good("POST", "mlflow/runs/log-batch", batch(run, kMetrics, (kBatches - 2) * kSteps, kSteps));
  for (int i = 0; i < kMetrics; ++i) EXPECT_EQ(count(run, concat("m", i)), std::size_t{kBatches} * kSteps);
}

TEST_F(TrackingServiceTest, ABatchThatIsRepeatedAfterARestartIsThereOnce) {
  const std::string run = new_run();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));
  EXPECT_TRUE(service_->close().empty());
  start();
  good("POST", "mlflow/runs/log-metric", point(run, 0.5, 1));  // its answer was lost
  EXPECT_EQ(history(run), (std::vector<double>{0.5}));
}

TEST_F(TrackingServiceTest, AModelThatIsLoggedAgainWithTheSameRequestIsThereOnce) {
  const std::string run = new_run();
  for (const char* const model : {"a", "a", "b"}) {
    const Json body = {{"run_id", run}, {"model_json", Json({{"model_uuid", model}}).dump()}};
    good("POST", "mlflow/runs/log-model", body.dump());
  }
  const Json got = good("GET", concat("mlflow/runs/get?run_id=", run));
  std::string history;
  for (const Json& tag : got["run"]["data"]["tags"].values()) {
    if (tag["key"] == Json("mlflow.log-model.history")) history = tag["value"].text();
  }
  EXPECT_EQ(*parse_json(history), Json(Json::Array{{{"model_uuid", "a"}}, {{"model_uuid", "b"}}})) << history;
}

TEST_F(TrackingServiceTest, AMalformedStateIsAnError) {
  const std::string run = new_run();
  StateLog log(root().at(concat("_headrace/mlflow/runs/", run)), "headrace.mlflow.run");
  const auto spoil = [](Json& state) -> Status {
    state["user"] = 5;
    return {};
  };
  ASSERT_TRUE(log.change(spoil, {}));
  EXPECT_EQ(ask("GET", concat("mlflow/runs/get?run_id=", run)).status, 500U);
}

TEST_F(TrackingServiceTest, LargeAnswersAreKnownBefore) {
  EXPECT_TRUE(has_large_answer("GET", "/api/2.0/mlflow-artifacts/artifacts/0/r/artifacts/a"));
  EXPECT_TRUE(has_large_answer("GET", "/api/2.0/mlflow/metrics/get-history?run_id=r"));
  EXPECT_TRUE(has_large_answer("POST", "/ajax-api/2.0/mlflow/runs/search"));
  EXPECT_FALSE(has_large_answer("PUT", "/api/2.0/mlflow-artifacts/artifacts/0/r/artifacts/a"));
  EXPECT_FALSE(has_large_answer("GET", "/api/2.0/mlflow/runs/get?run_id=r"));
}

TEST_F(TrackingServiceTest, ThreadsLogIntoRunsThatEndMeanwhile) {
  const std::string run = new_run();
  std::vector<std::thread> threads;
  for (int who = 0; who < 3; ++who) {
    threads.emplace_back([&, who] {
      for (int i = 0; i < 30; ++i) good("POST", "mlflow/runs/log-metric", point(run, who, i));
    });
  }
  for (int i = 0; i < 5; ++i)
    good("POST", "mlflow/runs/update",
         Json({{"run_id", run}, {"status", i % 2 == 0 ? "FAILED" : "RUNNING"}}).dump());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(history(run).size(), 90U);
}

TEST_F(TrackingServiceTest, APartThatIsSealedTakesNoPointAndSaysSo) {
  Background background{1};
  const PartSurroundings parts{.stores = stores_,
                               .root_url = std::string(kRoot),
                               .journals = journals_,
                               .command_line = {"test"},
                               .version = "1",
                               .now = Environment{}.now,
                               .background = background};
  const auto part = OpenPart::start(parts, "", {}, nullptr, {});
  ASSERT_TRUE(part);
  const LoggedPoint one{.key = "loss", .value = 0.5, .time_ms = 1000, .step = 1};
  {
    const PartSeal ending(*part);
    EXPECT_EQ(*(*part)->log({&one, 1}), false);
    EXPECT_TRUE((*part)->last_points().empty());
  }
  EXPECT_EQ(*(*part)->log({&one, 1}), true);  // its run could not be ended
  EXPECT_EQ((*part)->last_points().size(), 1U);
  EXPECT_TRUE((*part)->finish({}, {}));
  EXPECT_EQ(*(*part)->log({&one, 1}), false);
}

TEST(OpenParts, AnOpeningThatThrowsTakesNoPlaceForGood) {
  OpenParts parts;
  const auto fail = []() -> Result<PartPointer> { throw JsonError("malformed"); };
  for (int i = 0; i < 2 * OpenParts::kMostOpening; ++i)
    EXPECT_THROW(static_cast<void>(parts.open("run", fail)), JsonError);
  const auto none = []() -> Result<PartPointer> { return Error{Code::kNotFound, "asked"}; };
  EXPECT_EQ(parts.open("run", none).error().code, Code::kNotFound);
}

TEST_F(TrackingServiceTest, MoreRunsThanMayBeOpenAreLogged) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < OpenParts::kMost + 3; ++i) {
    runs.push_back(new_run());
    good("POST", "mlflow/runs/log-metric", point(runs.back(), 0.5, 1));
  }
  std::size_t open = 0;
  for ([[maybe_unused]] const auto& folder : std::filesystem::directory_iterator(journals_)) ++open;
  EXPECT_EQ(open, OpenParts::kMost);
  good("POST", "mlflow/runs/log-metric", point(runs.front(), 0.25, 2));
  EXPECT_EQ(history(runs.front()), (std::vector<double>{0.5, 0.25}));
}

TEST_F(TrackingServiceTest, ErrorsHaveMlflowsCodes) {
  const std::string run = new_run();
  EXPECT_EQ(code("GET", "mlflow/runs/get?run_id=none"), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(code("GET", "mlflow/runs/get?run_id=..%2F.."), "400 INVALID_PARAMETER_VALUE");
  EXPECT_EQ(code("GET", "mlflow/runs/get"), "400 INVALID_PARAMETER_VALUE");
  EXPECT_EQ(code("POST", "mlflow/runs/create", "[]"), "400 INVALID_PARAMETER_VALUE");
  EXPECT_EQ(code("POST", "mlflow/runs/create", R"({"experiment_id": "9"})"), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(code("POST", "mlflow/runs/update", Json({{"run_id", run}, {"status", "x"}}).dump()),
            "400 INVALID_PARAMETER_VALUE");
  EXPECT_EQ(code("POST", "mlflow/experiments/create", R"({"name": "Default"})"),
            "400 RESOURCE_ALREADY_EXISTS");
  EXPECT_EQ(code("POST", "mlflow/webhooks", "{}"), "501 NOT_IMPLEMENTED");
  EXPECT_EQ(code("POST", "mlflow/registered-models/create", "{}"), "400 INVALID_PARAMETER_VALUE");
  EXPECT_EQ(code("GET", "mlflow/registered-models/get?name=none"), "404 RESOURCE_DOES_NOT_EXIST");
  good("POST", "mlflow/registered-models/create", R"({"name": "cats"})");
  EXPECT_EQ(code("POST", "mlflow/registered-models/create", R"({"name": "cats"})"),
            "400 RESOURCE_ALREADY_EXISTS");
  EXPECT_EQ(code("GET", "mlflow/logged-models/m-1"), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(code("DELETE", "mlflow/logged-models/m-1/tags/a%2Fb"), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(code("GET", "mlflow-artifacts/artifacts/0/x/artifacts/%2e%2e"), "400 INVALID_PARAMETER_VALUE");
}

TEST_F(TrackingServiceTest, RequestsHaveKinds) {
  EXPECT_EQ(kind_of("POST", "/api/2.0/mlflow/runs/log-batch"), RequestKind::kLogging);
  EXPECT_EQ(kind_of("GET", "/ajax-api/2.0/mlflow/runs/get?run_id=x"), RequestKind::kOther);
  EXPECT_EQ(kind_of("PUT", "/api/2.0/mlflow-artifacts/artifacts/a"), RequestKind::kArtifact);
  EXPECT_EQ(kind_of("GET", "/api/2.0/mlflow-artifacts/artifacts?path=a"), RequestKind::kOther);
  EXPECT_EQ(kind_of("GET", "/health"), RequestKind::kImmediate);
}

}  // namespace
}  // namespace headrace::mlflow
