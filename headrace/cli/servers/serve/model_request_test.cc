#include "headrace/cli/servers/serve/model_request.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/serve/live_model/test_model_test.h"
#include "headrace/serve/protocol/rest_v1_request.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A request that has no connection; it has an end once it is gone.
class AloneRequest final : public ModelRequest {
 public:
  AloneRequest(ServingMetrics& metrics, steady_clock::time_point received,
               std::optional<milliseconds> given_time, bool has_memory,
               std::shared_ptr<std::atomic<int>> ended)
      : ModelRequest(metrics, "test", received),
        given_time_(given_time),
        has_memory_(has_memory),
        ended_(std::move(ended)) {}

  void send() {
    count(200);
    ++*ended_;
  }
  void send_error(const Error& error, std::chrono::nanoseconds) override {
    count(http_status(error.code));
    ++*ended_;
  }
  Status reserve_answer(std::uint64_t) override {
    if (has_memory_) return {};
    return Error{Code::kResourceExhausted, "no memory of the server"};
  }
  Clock::time_point deadline_within(milliseconds most) const override {
    return received() + given_time_.value_or(most);
  }
  std::optional<std::string_view> header(std::string_view) const override { return std::nullopt; }
  std::uint64_t body_bytes() const override { return 20; }

 private:
  const std::optional<milliseconds> given_time_;
  const bool has_memory_;
  const std::shared_ptr<std::atomic<int>> ended_;
};

// Every request goes to the canary, whose clock the test sets.
class CanaryRequestsTest : public testing::Test {
 protected:
  CanaryRequestsTest() {
    canary_ = std::make_shared<Canary>(
        "m", CanaryOptions{.version = 2U, .weight = kFullShare, .max_latency = seconds(1)},
        [](const std::string&) {}, [this] { return now_.load(); });
    entry_ = std::make_shared<const ServedEntry>(ServedEntry{
        .live = start_test_model("m", {1, 2}, nullptr,
                                 [this](std::uint64_t, std::vector<TensorView> inputs,
                                        std::shared_ptr<const void> owner) -> Result<BatchOutputs> {
                                   while (is_held_) std::this_thread::sleep_for(milliseconds(1));
                                   if (error_) return *error_;
                                   return echo_inputs(std::move(inputs), std::move(owner));
                                 }),
        .deadline = seconds(30),
        .canary = canary_});
    models_.publish({.models = {{"m", entry_}}});
    while (entry_->live->ready_versions().size() < 2) std::this_thread::yield();
  }
  ~CanaryRequestsTest() override {
    is_held_ = false;
    models_.publish({});
    while (entry_.use_count() > 1) std::this_thread::yield();
  }

  struct Asking {
    int rows = 1;
    std::optional<milliseconds> given_time{};  // by the client
    seconds ago{};                             // its head was there
    bool has_memory = true;
  };
  void ask(const Asking& asking) {
    auto request = std::make_shared<AloneRequest>(metrics_, steady_clock::now() - asking.ago,
                                                  asking.given_time, asking.has_memory, ended_);
    std::string body = R"({"instances": [1)";
    for (int i = 1; i < asking.rows; ++i) body += ", 1";
    auto parsed = RestRequest::parse(body + "]}");
    ASSERT_TRUE(parsed);
    auto bind = [parsed = *parsed](const ServedSignature& signature) { return parsed.bind(signature); };
    find_version(request, models_, {.name = "m"}, RequestPurpose::kInfer, [request, bind] {
      run_rows(request, "serving_default", bind, AnswerEncoding::kJson,
               [request](const BatchAnswers&) -> Status {
                 request->send();
                 return {};
               });
    });
  }
  void wait_for(int ended) {
    for (int i = 0; i < 20'000 && *ended_ < ended; ++i) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(*ended_, ended);
  }

  ServingMetrics metrics_;  // outlives the threads that answer
  const std::shared_ptr<std::atomic<int>> ended_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<steady_clock::time_point> now_{steady_clock::time_point(hours(5))};
  std::atomic<bool> is_held_ = false;
  std::optional<Error> error_;  // set while nothing runs
  std::shared_ptr<Canary> canary_;
  std::shared_ptr<const ServedEntry> entry_;
  ServedModels models_;
};

TEST_F(CanaryRequestsTest, AnAnswerCounts) {
  ask({});
  wait_for(1);
  EXPECT_EQ(canary_->counts().requests, 1U);
  EXPECT_EQ(canary_->counts().failed, 0U);
}

TEST_F(CanaryRequestsTest, ADeadlineThatHasPassedBeforeTheModelWasAskedIsNotItsFault) {
  ask({.given_time = milliseconds(1), .ago = seconds(2)});
  ask({.ago = seconds(31)});  // a slow upload
  wait_for(2);
  EXPECT_EQ(canary_->counts().requests, 0U);
}

TEST_F(CanaryRequestsTest, AClientThatGivesUpCountsOnlyIfItWasSlowAlready) {
  is_held_ = true;
  ask({.given_time = milliseconds(1'000)});
  wait_for(1);
  EXPECT_EQ(canary_->counts().requests, 0U);

  ask({.given_time = milliseconds(1'000)});
  now_ = now_.load() + seconds(2);
  wait_for(2);
  EXPECT_EQ(canary_->counts().requests, 1U);
  EXPECT_EQ(canary_->counts().slow, 1U);
  EXPECT_EQ(canary_->counts().failed, 0U);
}

TEST_F(CanaryRequestsTest, AModelThatUsesUpItsOwnTimeHasFailed) {
  is_held_ = true;
  ask({.given_time = milliseconds(1'000)});
  now_ = now_.load() + milliseconds(29'999);  // its head was there before
  wait_for(1);
  EXPECT_EQ(canary_->counts().failed, 1U);
}

TEST_F(CanaryRequestsTest, AnEngineThatGivesUpByItselfHasFailed) {
  error_ = Error{Code::kDeadlineExceeded, "a queue of the graph"};
  ask({});
  wait_for(1);
  EXPECT_EQ(canary_->counts().failed, 1U);
}

TEST_F(CanaryRequestsTest, AnEngineWithoutMemoryHasFailedButNotAServerWithoutMemory) {
  ask({.has_memory = false});
  wait_for(1);
  EXPECT_EQ(canary_->counts().requests, 0U);
  error_ = Error{Code::kResourceExhausted, "out of memory"};
  ask({});
  wait_for(2);
  EXPECT_EQ(canary_->counts().failed, 1U);
}

TEST_F(CanaryRequestsTest, AVersionWhoseQueueIsFullHasFailed) {
  is_held_ = true;
  const int full = 1 + (1024 + 64) / 64;  // batches: one runs
  for (int i = 0; i < full; ++i) ask({.rows = 64});
  EXPECT_EQ(canary_->counts().requests, 0U);
  ask({});
  wait_for(1);
  EXPECT_EQ(canary_->counts().failed, 1U);
  is_held_ = false;
  wait_for(full + 1);
}

TEST_F(CanaryRequestsTest, AClientThatIsInMoreOfAHurryThanTheQueueIsNotTheVersionsFault) {
  is_held_ = true;
  ask({});
  std::this_thread::sleep_for(milliseconds(1'500));  // which batches take from now on
  is_held_ = false;
  wait_for(1);
  is_held_ = true;
  ask({});
  ask({.given_time = milliseconds(1'000)});
  wait_for(2);
  EXPECT_EQ(canary_->counts().requests, 1U) << "the first one";
}

}  // namespace
}  // namespace headrace
