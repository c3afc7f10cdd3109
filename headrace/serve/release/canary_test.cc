#include "headrace/serve/release/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = CanaryRequest::Outcome;

class CanaryTest : public testing::Test {
 protected:
  Canary make(CanaryOptions options) {
    options.version = std::string("candidate");
    return Canary(
        "m", std::move(options), [this](const std::string& text) { remarks.push_back(text); },
        [this] { return now; });
  }
  void ask(Canary& canary, int times, Outcome outcome, milliseconds took = {}) {
    for (int i = 0; i < times; ++i) {
      CanaryRequest request = canary.begin(7);
      now += took;
      request.finish(outcome);
    }
  }

  std::chrono::steady_clock::time_point now{std::chrono::hours(5)};
  std::vector<std::string> remarks;
};

TEST_F(CanaryTest, NeverMoreThanItsWeightIsDrawn) {
  for (const std::uint64_t weight : {0U, 1U, 33U, 500U, 9'999U, 10'000U}) {
    Canary canary = make({.weight = weight});
    std::uint64_t drawn = 0;
    for (std::uint64_t n = 1; n <= 25'000; ++n) {
      drawn += canary.draws({}) ? 1 : 0;
      ASSERT_EQ(drawn, n * weight / kFullShare) << weight;
    }
  }
}

TEST_F(CanaryTest, AClientStaysOnItsSideOnAllServersAndWithAHigherWeight) {
  Canary canary = make({.weight = 2'000, .sticky_header = "X-User"});
  Canary elsewhere = make({.weight = 2'000, .sticky_header = "X-User"});
  Canary later = make({.weight = 5'000, .sticky_header = "X-User"});
  int drawn = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string client = concat("user ", i);
    const bool is_drawn = canary.draws(client);
    ASSERT_EQ(elsewhere.draws(client), is_drawn);
    ASSERT_TRUE(!is_drawn || later.draws(client));
    drawn += is_drawn ? 1 : 0;
  }
  EXPECT_NEAR(drawn, 2'000, 200);
}

TEST_F(CanaryTest, ItIsWithdrawnWhenTooManyFail) {
  Canary canary = make({.weight = kFullShare, .max_error_rate = 0.1, .min_requests = 20});
  ask(canary, 18, Outcome::kAnswered);
  ask(canary, 2, Outcome::kFailed);
  EXPECT_FALSE(canary.counts().withdrawn) << "the bound itself is allowed";
  EXPECT_TRUE(canary.draws({}));
  ask(canary, 1, Outcome::kFailed);
  EXPECT_FALSE(canary.draws({}));
  EXPECT_FALSE(canary.draws("a client"));
  ask(canary, 1, Outcome::kFailed);
  EXPECT_THAT(remarks, ElementsAre("m: the canary, version 7, is withdrawn: 3 of 21 requests failed; "
                                   "max-error-rate is 0.1"));
  EXPECT_EQ(canary.counts().failed, 4U);
}

TEST_F(CanaryTest, FewRequestsAndThoseOfClientsFaultsJudgeNothing) {
  Canary canary = make({.weight = 1, .max_error_rate = 0, .min_requests = 20});
  ask(canary, 19, Outcome::kFailed);
  ask(canary, 100, Outcome::kNotCounted);
  EXPECT_FALSE(canary.counts().withdrawn);
  EXPECT_EQ(canary.counts().requests, 19U);
  { const CanaryRequest given_up = canary.begin(7); }
  EXPECT_EQ(canary.counts().requests, 19U);
  ask(canary, 1, Outcome::kAnswered);
  EXPECT_TRUE(canary.counts().withdrawn);
}

TEST_F(CanaryTest, AVersionThatRejectsWhatOthersTakeIsWithdrawn) {
  Canary canary = make({.weight = 1, .max_error_rate = 0.1, .min_requests = 20});
  ask(canary, 20, Outcome::kRejected);
  EXPECT_FALSE(canary.counts().withdrawn) << "clients may be at fault: nothing is known of others";
  for (int i = 0; i < 400; ++i) canary.count_other(Outcome::kAnswered);
  ask(canary, 3, Outcome::kRejected);
  ASSERT_TRUE(canary.counts().withdrawn);
  EXPECT_EQ(canary.counts().rejected, 23U);
}

TEST_F(CanaryTest, ValuesThatAllVersionsRejectWithdrawNothing) {
  Canary canary = make({.weight = 1, .max_error_rate = 0, .min_requests = 20});
  ask(canary, 1, Outcome::kAnswered);  // others are counted beside a version
  for (int i = 0; i < 400; ++i) canary.count_other(i % 4 == 0 ? Outcome::kRejected : Outcome::kAnswered);
  ask(canary, 60, Outcome::kAnswered);
  ask(canary, 30, Outcome::kRejected);
  EXPECT_FALSE(canary.counts().withdrawn) << "a third, where a quarter is usual";
  ask(canary, 60, Outcome::kRejected);
  EXPECT_TRUE(canary.counts().withdrawn);
}

TEST_F(CanaryTest, ItIsWithdrawnWhenMoreThanAHundredthIsSlow) {
  Canary canary =
      make({.weight = 1, .max_latency = milliseconds(200), .window = seconds(600), .min_requests = 20});
  ask(canary, 20, Outcome::kAnswered, milliseconds(200));
  ask(canary, 1, Outcome::kAnswered, milliseconds(201));
  EXPECT_FALSE(canary.counts().withdrawn) << "one alone proves nothing";
  ask(canary, 179, Outcome::kAnswered, milliseconds(200));
  ask(canary, 1, Outcome::kAnswered, milliseconds(201));
  EXPECT_FALSE(canary.counts().withdrawn) << "two of two hundred";
  ask(canary, 1, Outcome::kAnswered, milliseconds(201));
  ASSERT_TRUE(canary.counts().withdrawn);
  EXPECT_THAT(*canary.counts().withdrawn,
              HasSubstr("3 of 202 requests took longer than max-latency, 200 ms"));
}

TEST_F(CanaryTest, RequestsThatHangAreSlowBeforeTheyEnd) {
  Canary canary = make({.weight = 1, .max_latency = milliseconds(200), .min_requests = 5});
  std::vector<CanaryRequest> hanging;
  for (int i = 0; i < 5; ++i) hanging.push_back(canary.begin(7));
  now += milliseconds(200);
  EXPECT_FALSE(canary.counts().withdrawn);
  now += milliseconds(1);
  EXPECT_TRUE(canary.counts().withdrawn);
}

TEST_F(CanaryTest, TheWindowForgets) {
  Canary canary = make({.weight = 1, .max_error_rate = 0.5, .window = seconds(60), .min_requests = 20});
  ask(canary, 19, Outcome::kFailed);
  now += seconds(61);
  ask(canary, 19, Outcome::kFailed);
  EXPECT_FALSE(canary.counts().withdrawn);
  now += seconds(30);
  ask(canary, 1, Outcome::kFailed);
  EXPECT_TRUE(canary.counts().withdrawn);
}

TEST_F(CanaryTest, AnotherVersionBeginsAnew) {
  Canary canary = make({.weight = 1, .max_error_rate = 0.5, .min_requests = 3});
  std::vector<CanaryRequest> before;
  for (int i = 0; i < 10; ++i) before.push_back(canary.begin(7));
  static_cast<void>(canary.begin(8));
  static_cast<void>(canary.begin(7));
  for (CanaryRequest& request : before) request.finish(Outcome::kFailed);
  EXPECT_FALSE(canary.counts().withdrawn);
  EXPECT_EQ(canary.counts().requests, 0U);
  ask(canary, 3, Outcome::kFailed);
  EXPECT_TRUE(canary.counts().withdrawn);
}

TEST(Canary, ManyThreadsMayAskAtOnce) {
  std::atomic<int> remarks = 0;
  Canary canary("m", {.version = 7U, .weight = 2'500, .max_error_rate = 0.5},
                [&](const std::string&) { ++remarks; });
  std::atomic<int> drawn = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1'000; ++n) {
          if (!canary.draws({})) continue;
          ++drawn;
          canary.begin(7).finish(Outcome::kAnswered);
        }
      });
    }
  }
  EXPECT_EQ(drawn, 1'000);
  EXPECT_EQ(canary.counts().requests, 1'000U);
  EXPECT_EQ(remarks, 0);
}

}  // namespace
}  // namespace headrace
