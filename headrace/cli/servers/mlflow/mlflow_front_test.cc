#include "headrace/cli/servers/mlflow/mlflow_front.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/raw_client_test.h"
#include "headrace/cli/servers/serve/request_parser.h"
#include "headrace/store/layers/intercepting.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

// A store whose calls wait while it is stalled, and which can be told to keep artifacts badly.
class GatedStore : public InterceptingStore {
 public:
  using InterceptingStore::InterceptingStore;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_TRY(ObjectInfo object, InterceptingStore::stat(key, options));
    if (is_damaged) object.crc32c = object.crc32c.value_or(0) ^ 1;
    if (is_replaced) HEADRACE_CHECK(write_text(inner(), key, "another one"));
    return object;
  }
  std::atomic<bool> is_damaged = false;
  std::atomic<bool> is_replaced = false;  // once it was looked at

  void stall() { set_stalled(true); }
  void go_on() { set_stalled(false); }
  void wait_for_waiting(int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= calls; });
  }

 private:
  Status around(StoreCall&, const std::function<Status()>& go_on) override {
    {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !is_stalled_; });
      --waiting_;
    }
    return go_on();
  }
  void set_stalled(bool is_stalled) {
    const std::scoped_lock lock(mutex_);
    is_stalled_ = is_stalled;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stalled_ = false;
  int waiting_ = 0;
};

class ServedMlflow : public testing::Test {
 protected:
  ServedMlflow() {
    stores_.put(*StoreRegistry::parse("memory://runs"), store_);
    mlflow::TrackingServiceOptions options{.root = *stores_.open("memory://runs"),
                                           .root_url = "memory://runs"};
    options.stores = &stores_;
    options.journals = journals_;
    options.now = Environment{}.now;
    options.remark = [](const std::string&) {};
    service_.emplace(std::move(options));
    front_.emplace(*service_, MlflowFrontOptions{.artifact_bytes_max = kArtifactBytesMax});
    HttpServerOptions http{.listen = {"127.0.0.1:0"}};
    http.limits.transfer_timeout = std::chrono::hours(1);
    auto started = HttpServer::start(
        std::move(http), [this](const RequestHead& head) { return front_->judge(head); },
        [this](ReceivedRequest request, Responder responder) {
          front_->answer(std::move(request), std::move(responder));
        });
    EXPECT_TRUE(started);
    http_ = *std::move(started);
  }
  ~ServedMlflow() override {
    store_->go_on();
    http_.reset();
    front_.reset();
    EXPECT_TRUE(service_->close().empty());
    service_.reset();
    std::filesystem::remove_all(journals_);
  }

  static std::string request(std::string_view call, const Json& body) {
    const std::string text = body.dump();
    return concat("POST /api/2.0/mlflow/runs/", call,
                  " HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", text.size(), "\r\n\r\n", text);
  }
  std::string ask(std::string_view call, const Json& body) {
    RawClient client(http_->port());
    EXPECT_TRUE(client.send(request(call, body)));
    return client.answer();
  }
  std::string new_run() {
    const std::string answer = ask("create", Json::object());
    return (*parse_json(answer.substr(answer.find("\r\n\r\n") + 4)))["run"]["info"]["run_id"].text();
  }
  static Json point(const std::string& run, int step) {
    return {{"run_id", run}, {"key", "loss"}, {"value", 0.5}, {"timestamp", 1000}, {"step", step}};
  }
  static Json tag(const std::string& run, const std::string& key) {
    return {{"run_id", run}, {"key", key}, {"value", "x"}};
  }
  static bool is_good(std::string_view answer) { return answer.starts_with("HTTP/1.1 200"); }

  static std::string artifact_request(std::string_view method, std::string_view name,
                                      std::string_view headers = {}) {
    return concat(method, " /api/2.0/mlflow-artifacts/artifacts/0/r/artifacts/", name,
                  " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n");
  }
  int put_artifact(std::string_view name, std::string_view content) {
    RawClient client(http_->port());
    const std::string length = concat("Content-Length: ", content.size(), "\r\n");
    EXPECT_TRUE(client.send(concat(artifact_request("PUT", name, length), content)));
    return status_of(client.answer());
  }
  std::string get_artifact(std::string_view name) {
    RawClient client(http_->port());
    return client.ask(artifact_request("GET", name));
  }

  static constexpr std::uint64_t kArtifactBytesMax = 20 << 20;
  const std::string journals_ =
      std::filesystem::temp_directory_path() / concat("headrace-", hex64(random_name_bits()));
  StoreRegistry stores_{Environment{}};
  const std::shared_ptr<GatedStore> store_ =
      std::make_shared<GatedStore>(std::shared_ptr<Store>(make_memory_store("runs")));
  std::optional<mlflow::TrackingService> service_;
  std::optional<MlflowFront> front_;
  std::unique_ptr<HttpServer> http_;
};

TEST_F(ServedMlflow, PointsAreLoggedWhateverWaitsForAStalledStore) {
  constexpr int kWaiting = 24, kPoints = 100;
  const std::string run = new_run(), other = new_run();
  store_->stall();
  std::vector<RawClient> waiting;
  for (int i = 0; i < kWaiting; ++i) {  // more than there are threads of any kind
    const Json batch = {{"run_id", i % 2 == 0 ? run : other},
                        {"metrics", Json::Array{{{"key", "a"}, {"value", 1}, {"timestamp", 1}, {"step", i}}}},
                        {"tags", Json::Array{{{"key", concat("t", i)}, {"value", "x"}}}}};
    waiting.emplace_back(http_->port());
    ASSERT_TRUE(waiting.back().send(request("log-batch", batch)));
  }
  store_->wait_for_waiting(2);  // a change of each run
  RawClient client(http_->port());
  for (int step = 0; step < kPoints; ++step) {
    ASSERT_TRUE(client.send(request("log-metric", point(run, step))));
    ASSERT_TRUE(is_good(client.answer()));
  }
  store_->go_on();
  int good = 0;
  for (RawClient& each : waiting) {
    const std::string answer = each.answer();
    good += is_good(answer) ? 1 : 0;
    EXPECT_TRUE(is_good(answer) || answer.find("Retry-After: 1\r\n") != answer.npos) << answer;
  }
  EXPECT_GE(good, 8);
}

TEST_F(ServedMlflow, SlowClientsOfArtifactsLeaveThreadsToOthers) {
  constexpr int kSlow = 7;
  ASSERT_EQ(put_artifact("large", std::string(kArtifactBytesMax, 'x')), 200);
  ASSERT_EQ(put_artifact("small", "abc"), 200);
  std::vector<RawClient> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.emplace_back(http_->port(), 4096);
    ASSERT_TRUE(slow.back().send(artifact_request("GET", "large")));  // and takes nothing of it
    slow.emplace_back(http_->port());
    ASSERT_TRUE(slow.back().send(artifact_request("PUT", concat(i), "Content-Length: 3\r\n")));
  }
  while (http_->counts().requests_in_flight < std::size_t{2 * kSlow}) std::this_thread::yield();
  EXPECT_EQ(put_artifact("other", "abc"), 200);
  EXPECT_EQ(body_of(get_artifact("other")), "abc");
  RawClient client(http_->port());
  EXPECT_EQ(status_of(client.ask(artifact_request("DELETE", "small"))), 200);
  for (RawClient& each : slow) each.reset();
}

TEST_F(ServedMlflow, ADamagedArtifactIsNotDeliveredAsAWholeOne) {
  for (const std::size_t size : {1U, 1U << 20, (9U << 20) + 1}) {
    ASSERT_EQ(put_artifact("a", std::string(size, 'x')), 200);
    EXPECT_EQ(body_of(get_artifact("a")).size(), size);
    store_->is_damaged = true;
    const std::string answer = get_artifact("a");
    EXPECT_NE(answer.find(concat("Content-Length: ", size, "\r\n")), answer.npos);
    EXPECT_LT(body_of(answer).size(), size);
    store_->is_damaged = false;
  }
}

TEST_F(ServedMlflow, AnArtifactThatIsReplacedWhileItIsSentIsNotDeliveredAsAWholeOne) {
  ASSERT_EQ(put_artifact("a", "the first one"), 200);
  store_->is_replaced = true;
  EXPECT_EQ(body_of(get_artifact("a")), "");
  store_->is_replaced = false;
  EXPECT_EQ(body_of(get_artifact("a")), "another one");
}

TEST_F(ServedMlflow, AnArtifactInChunksThatIsTooLargeIsRefusedForGood) {
  RawClient client(http_->port());
  std::string request = artifact_request("PUT", "a", "Transfer-Encoding: chunked\r\n");
  for (int i = 0; i < 21; ++i) request += concat("100000\r\n", std::string(1 << 20, 'x'), "\r\n");
  client.send(concat(request, "0\r\n\r\n"));
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 413);
  EXPECT_EQ(answer.find("Retry-After"), answer.npos);
  EXPECT_EQ(status_of(get_artifact("a")), 404);
}

TEST(MlflowFront, LargeAnswersAreNotMadeWhileManyAreInMemory) {
  StoreRegistry stores{Environment{}};
  mlflow::TrackingServiceOptions options{.root = *stores.open("memory://runs"), .root_url = "memory://runs"};
  options.stores = &stores;
  options.journals = std::filesystem::temp_directory_path() / concat("headrace-", hex64(random_name_bits()));
  options.now = Environment{}.now;
  options.remark = [](const std::string&) {};
  mlflow::TrackingService service(std::move(options));
  std::uint64_t in_flight = 100;
  MlflowFront front(service, {.busy_bytes = 100, .bytes_in_flight = [&] { return in_flight; }});
  const std::string padding(mlflow::kBodyPaddingBytes, '\0');
  const auto status_of = [&](std::string_view method, std::string_view target) {
    return front
        .answer_now({.method = method, .target = target, .body = std::string_view(padding).substr(0, 0)})
        .status;
  };
  constexpr std::string_view kArtifact = "/api/2.0/mlflow-artifacts/artifacts/0/r/artifacts/a";
  EXPECT_EQ(status_of("GET", kArtifact), 404U);
  in_flight = 101;
  EXPECT_EQ(status_of("GET", kArtifact), 429U);
  EXPECT_EQ(status_of("GET", "/api/2.0/mlflow/metrics/get-history?run_id=r"), 429U);
  EXPECT_EQ(status_of("POST", "/api/2.0/mlflow/runs/search"), 429U);
  EXPECT_EQ(status_of("GET", "/api/2.0/mlflow/runs/get?run_id=r"), 404U);
  const auto refusal_of = [&](std::string_view method, std::string_view target) {
    RequestHead head;
    EXPECT_FALSE(RequestParser(100).parse_head(
        concat(method, " ", target, " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"), head));
    const HeadVerdict verdict = front.judge(head);
    return verdict.refusal ? verdict.refusal->status : 0U;
  };
  EXPECT_EQ(refusal_of("PUT", kArtifact), 429U);  // artifacts leave room to what is logged
  EXPECT_EQ(refusal_of("POST", "/api/2.0/mlflow/runs/log-batch"), 0U);
  in_flight = 100;
  EXPECT_EQ(refusal_of("PUT", kArtifact), 0U);
}

}  // namespace
}  // namespace headrace
