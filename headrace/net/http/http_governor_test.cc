#include "headrace/net/http/http_governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Ge;
using testing::Le;

using Time = InFlightLimit::Time;

// A server of which more than `knee` requests in flight get no more: each takes 10 ms, or its share of that.
class Server {
 public:
  explicit Server(std::size_t knee) : knee_(knee) {}
  void answer(InFlightLimit& limit, std::size_t answers) {
    for (std::size_t i = 0; i < answers; ++i) {
      const auto busy = std::min(limit.value(), knee_);
      now_ += microseconds(10'000) / static_cast<int>(busy);
      limit.over(1 << 20, true, now_);
    }
  }
  Time now() const { return now_; }

 private:
  std::size_t knee_;
  Time now_ = Time() + seconds(1);
};

TEST(InFlightLimit, GrowsAsLongAsThatBringsMore) {
  for (const std::size_t knee : {4, 10, 24, 48}) {
    InFlightLimit limit(8, 64);
    Server(knee).answer(limit, 20'000);
    EXPECT_THAT(limit.value(), AllOf(Ge(knee * 8 / 10), Le(knee * 13 / 10 + 1))) << knee;
  }
}

TEST(InFlightLimit, StaysWithinItsBounds) {
  InFlightLimit most(8, 16);
  Server(1000).answer(most, 20'000);
  EXPECT_EQ(most.value(), 16U);
  InFlightLimit least(8, 16);
  for (int i = 0; i < 100; ++i) least.overloaded(Time() + seconds(i));
  EXPECT_EQ(least.value(), 1U);
}

TEST(InFlightLimit, ASingleOverloadIsOneCutAndIsRecoveredFrom) {
  InFlightLimit limit(8, 64);
  Server server(24);
  server.answer(limit, 20'000);
  const std::size_t before = limit.value();
  for (int i = 0; i < 10; ++i) limit.overloaded(server.now());
  EXPECT_EQ(limit.value(), before * 7 / 10);
  server.answer(limit, 20'000);
  EXPECT_THAT(limit.value(), AllOf(Ge(before * 8 / 10), Le(before * 13 / 10)));
}

TEST(InFlightLimit, DoesNotMoveWhileNobodyWantsMore) {
  InFlightLimit limit(8, 64);
  Time now = Time() + seconds(1);
  for (int i = 0; i < 5'000; ++i) limit.over(1 << 20, false, now += milliseconds(1));
  EXPECT_EQ(limit.value(), 8U);
}

TEST(FirstByteTimes, KnowsNothingBeforeItHasSeenEnough) {
  FirstByteTimes times;
  for (int i = 0; i < 49; ++i) times.add(8 << 20, milliseconds(1));
  EXPECT_FALSE(times.unusual(8 << 20));
  times.add(8 << 20, milliseconds(1));
  EXPECT_TRUE(times.unusual(8 << 20));
  EXPECT_FALSE(times.unusual(1)) << "small requests are another matter";
}

TEST(FirstByteTimes, AFewLateAnswersDoNotMakeLatenessUsual) {
  FirstByteTimes times;
  for (int i = 0; i < 1'000; ++i) times.add(100, i % 50 == 0 ? seconds(2) : milliseconds(1 + i % 3));
  const auto unusual = duration_cast<microseconds>(*times.unusual(100));
  EXPECT_THAT(unusual.count(), AllOf(Ge(3'000), Le(20'000)));
}

TEST(FirstByteTimes, Forgets) {
  FirstByteTimes times;
  for (int i = 0; i < 1'000; ++i) times.add(0, seconds(1));
  for (int i = 0; i < 8'000; ++i) times.add(0, milliseconds(1));
  EXPECT_LE(*times.unusual(0), milliseconds(10));
}

TEST(HttpGovernor, LetsInAsManyAsTheLimitSays) {
  HttpGovernor governor(64);
  std::size_t begun = 0;
  while (governor.try_begin() != HttpGovernor::Begun::kNo) ++begun;
  EXPECT_EQ(begun, governor.counters().limit);
  governor.end();
  EXPECT_EQ(governor.try_begin(), HttpGovernor::Begun::kInTheLastPlace);
}

TEST(HttpGovernor, HedgesATwentiethOfAllRequestsAtMost) {
  HttpGovernor governor(64);
  int hedges = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_NE(governor.try_begin(), HttpGovernor::Begun::kNo);
    if (governor.may_hedge(Time() + seconds(1))) {
      governor.hedged();
      ++hedges;
    }
    governor.end();
  }
  EXPECT_THAT(hedges, AllOf(Ge(490), Le(510)));
  EXPECT_EQ(governor.counters().hedges, static_cast<std::uint64_t>(hedges));
}

TEST(HttpGovernor, DoesNotHedgeAtAServerThatHasTooMuchToDo) {
  HttpGovernor governor(64);
  const Time now = Time() + seconds(100);
  governor.overloaded(now);
  EXPECT_FALSE(governor.may_hedge(now + milliseconds(500)));
  EXPECT_TRUE(governor.may_hedge(now + milliseconds(1'500)));
}

// Three of twenty answers are late and lose against a second request. That is more than hedging may cost.
TEST(HttpGovernor, LateAnswersThatLoseAreLearntFrom) {
  HttpGovernor governor(64);
  const auto serve = [&](milliseconds time) {
    governor.try_begin();
    governor.answered({.size_bytes = 4096, .first_byte = time}, Time() + seconds(1));
    governor.end();
  };
  for (int i = 0; i < 4'000; ++i) {
    const auto late = governor.hedge_after(4096);
    if (i % 20 < 3 && late) governor.gave_up(4096, std::min<FirstByteTimes::Duration>(*late, seconds(2)));
    serve(milliseconds(10));
  }
  EXPECT_GE(*governor.hedge_after(4096), seconds(1)) << "it is no longer unusual";
}

}  // namespace
}  // namespace headrace
