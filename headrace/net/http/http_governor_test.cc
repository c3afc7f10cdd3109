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

// A server whose throughput does not grow beyond `knee` requests in flight: each request takes 10 ms, or its
// share of that.
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

// Passes a window of 32 answers. The first answer ever, or the first after an idle time, only begins a
// window.
class Windows {
 public:
  explicit Windows(InFlightLimit& limit) : limit_(limit) { limit_.over(0, true, now_); }
  // Each answer has `bytes` bytes in addition to the 16 KiB that an answer counts by itself.
  void pass(std::uint64_t bytes, milliseconds time = milliseconds(50), int answers = 32, int full = 32) {
    for (int i = 1; i < answers; ++i) limit_.over(bytes, i < full, now_);
    limit_.over(bytes, full > 0, now_ += time);
  }
  Time now() const { return now_; }

 private:
  InFlightLimit& limit_;
  Time now_ = Time() + seconds(1);
};

TEST(InFlightLimit, TriesOneMoreAfterAWindow) {
  const auto after = [](milliseconds time, int answers, int full) {
    InFlightLimit limit(8, 64);
    Windows(limit).pass(1, time, answers, full);
    return limit.value();
  };
  EXPECT_EQ(after(milliseconds(50), 32, 32), 9U);
  EXPECT_EQ(after(milliseconds(49), 32, 32), 8U) << "too short";
  EXPECT_EQ(after(milliseconds(50), 31, 31), 8U) << "too few answers";
  EXPECT_EQ(after(milliseconds(50), 32, 16), 9U);
  EXPECT_EQ(after(milliseconds(50), 32, 15), 8U) << "who wants more?";
  InFlightLimit large(64, 128);
  Windows windows(large);
  windows.pass(1, milliseconds(50), 63, 63);
  EXPECT_EQ(large.value(), 64U) << "a window has as many answers as may be in flight";
  windows.pass(1, milliseconds(1), 1, 1);
  EXPECT_EQ(large.value(), 72U);
}

TEST(InFlightLimit, GoesOnIfAThirdOfAStepsThroughputCameWithIt) {
  constexpr std::uint64_t kBytes = 984 << 10;  // with what an answer is worth: 1,000 KiB
  const auto after = [&](std::uint64_t then) {
    InFlightLimit limit(8, 64);
    Windows windows(limit);
    windows.pass(kBytes);
    windows.pass(100 * kBytes);  // settling: it tells nothing
    EXPECT_EQ(limit.value(), 9U);
    windows.pass(then);
    return limit.value();
  };
  EXPECT_EQ(after(kBytes + (43 << 10)), 10U) << "more than an eighth's third";
  EXPECT_EQ(after(kBytes + (41 << 10)), 8U);
  InFlightLimit limit(8, 64);
  Windows windows(limit);
  for (int i = 0; i < 3; ++i) windows.pass(kBytes);
  EXPECT_EQ(limit.value(), 8U);
  for (int i = 0; i < 2; ++i) windows.pass(kBytes);  // it settles, and holds for a window
  EXPECT_EQ(limit.value(), 8U);
  windows.pass(kBytes);
  EXPECT_EQ(limit.value(), 7U) << "then it tries one less";
  windows.pass(kBytes);
  windows.pass(kBytes);
  EXPECT_EQ(limit.value(), 6U) << "which costs nothing";
}

TEST(InFlightLimit, AnOverloadCutsThreeTenthsButNotTwiceInATenthOfASecond) {
  InFlightLimit limit(8, 64);
  const Time now = Time() + seconds(10);
  limit.overloaded(now);
  EXPECT_EQ(limit.value(), 5U);
  limit.overloaded(now + milliseconds(99));
  EXPECT_EQ(limit.value(), 5U);
  limit.overloaded(now + milliseconds(100));
  EXPECT_EQ(limit.value(), 3U);
}

TEST(InFlightLimit, TimeInWhichNothingWasInFlightDoesNotCount) {
  InFlightLimit limit(8, 64);
  Windows windows(limit);
  windows.pass(1, milliseconds(10), 20, 20);
  limit.idle();
  windows.pass(1, milliseconds(50), 32, 32);  // of which the first begins the window
  EXPECT_EQ(limit.value(), 8U);
  windows.pass(1, milliseconds(0), 1, 1);
  EXPECT_EQ(limit.value(), 9U);
}

TEST(FirstByteTimes, TwiceTheMedianIsUnusualOrWhatIsBeyondNearlyAll) {
  FirstByteTimes even, spread, none, endless;
  for (int i = 0; i < 100; ++i) {
    even.add(0, milliseconds(1));  // from 2^(39/4) µs to 2^10 µs
    spread.add(0, i % 10 == 0 ? milliseconds(100) : milliseconds(1));
    none.add(0, FirstByteTimes::Duration::zero());
    endless.add(~std::uint64_t{0}, std::chrono::hours(100));
  }
  EXPECT_EQ(*even.unusual(0), microseconds(2'048));
  EXPECT_EQ(even.unusual(1), even.unusual(0));
  EXPECT_FALSE(even.unusual(2)) << "of another size";
  EXPECT_EQ(duration_cast<milliseconds>(*spread.unusual(0)), milliseconds(137))
      << "2^(67/4) µs, and a quarter";
  EXPECT_LT(*none.unusual(0), microseconds(3));
  EXPECT_EQ(duration_cast<seconds>(*endless.unusual(~std::uint64_t{0})), seconds(8'589)) << "2^33 µs";
}

TEST(HttpGovernor, CountsWhatItIsTold) {
  HttpGovernor governor(2);
  EXPECT_EQ(governor.try_begin(), HttpGovernor::Begun::kYes);
  EXPECT_EQ(governor.try_begin(), HttpGovernor::Begun::kInTheLastPlace);
  EXPECT_EQ(governor.try_begin(), HttpGovernor::Begun::kNo);
  governor.answered({.moved_bytes = 7}, Time() + seconds(1));
  governor.answered({.moved_bytes = 5}, Time() + seconds(1));
  governor.overloaded(Time() + seconds(1));
  governor.resent();
  governor.hedged();
  governor.hedge_won();
  const HttpCounters counters = governor.counters();
  EXPECT_EQ(counters.requests, 4U);
  EXPECT_EQ(counters.answers, 3U);
  EXPECT_EQ(counters.overloads, 1U);
  EXPECT_EQ(counters.resent, 1U);
  EXPECT_EQ(counters.hedges, 1U);
  EXPECT_EQ(counters.hedges_won, 1U);
  EXPECT_EQ(counters.moved_bytes, 12U);
  EXPECT_EQ(counters.limit, 1U) << "cut by the overload";
}

TEST(HttpGovernor, LearnsFromReadsOnly) {
  HttpGovernor governor(64);
  for (int i = 0; i < 100; ++i)
    governor.answered({.is_read = false, .first_byte = milliseconds(1)}, Time() + seconds(1));
  EXPECT_FALSE(governor.hedge_after(0));
  for (int i = 0; i < 49; ++i) governor.answered({.first_byte = milliseconds(1)}, Time() + seconds(1));
  EXPECT_FALSE(governor.hedge_after(0));
  governor.gave_up(0, milliseconds(1));
  EXPECT_TRUE(governor.hedge_after(0));
}

TEST(HttpGovernor, SavesUpForEightHedgesAtMost) {
  HttpGovernor governor(64);
  const Time now = Time() + seconds(1);
  EXPECT_TRUE(governor.may_hedge(now));
  governor.hedged();
  EXPECT_FALSE(governor.may_hedge(now));
  for (int i = 0; i < 1'000; ++i) {
    governor.try_begin();
    governor.end();
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(governor.may_hedge(now)) << i;
    governor.hedged();
  }
  EXPECT_FALSE(governor.may_hedge(now));
}

TEST(HttpGovernor, HedgesAgainASecondAfterAnOverload) {
  HttpGovernor governor(64);
  const Time now = Time() + seconds(100);
  governor.overloaded(now);
  EXPECT_FALSE(governor.may_hedge(now + milliseconds(999)));
  EXPECT_TRUE(governor.may_hedge(now + milliseconds(1'000)));
}

}  // namespace
}  // namespace headrace
