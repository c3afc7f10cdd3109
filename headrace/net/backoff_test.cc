#include "headrace/net/backoff.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace headrace {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, WaitsStayBetweenTheBoundsAndGrowAtMostThreefold) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff({.shortest = milliseconds(50), .longest = milliseconds(1'000)}, seed);
    milliseconds previous(50);
    for (int i = 0; i < 50; ++i) {
      const milliseconds wait = backoff.next();
      EXPECT_GE(wait, milliseconds(50));
      EXPECT_LE(wait, std::min(milliseconds(1'000), 3 * previous));
      previous = wait;
    }
  }
}

TEST(Backoff, IsAFunctionOfItsSeed) {
  Backoff one({}, 7), same({}, 7), other({}, 8);
  int equal = 0;
  for (int i = 0; i < 20; ++i) {
    const milliseconds wait = one.next();
    EXPECT_EQ(wait, same.next());
    equal += wait == other.next();
  }
  EXPECT_LT(equal, 20);
}

TEST(Sleep, EndsWhenStopped) {
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(sleep_unless_stopped(std::chrono::hours(1), source.get_token()));
  EXPECT_TRUE(sleep_unless_stopped(milliseconds(1), {}));
}

TEST(RetryBudget, IsSpentByRetriesAndRefilledByFourSuccessesEach) {
  RetryBudget budget(2);
  EXPECT_TRUE(budget.take());
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  for (int i = 0; i < 4; ++i) budget.succeeded();
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  for (int i = 0; i < 1000; ++i) budget.succeeded();
  EXPECT_TRUE(budget.take() && budget.take());
  EXPECT_FALSE(budget.take()) << "it never holds more than it began with";
}

TEST(Backoff, TheFirstWaitIsAnyUpToThreeTimesTheShortest) {
  std::set<milliseconds> first, second;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Backoff backoff({.shortest = milliseconds(2), .longest = milliseconds(7)}, seed);
    first.insert(backoff.next());
    second.insert(backoff.next());
  }
  EXPECT_EQ(first.size(), 5U);
  EXPECT_EQ(*first.begin(), milliseconds(2));
  EXPECT_EQ(*first.rbegin(), milliseconds(6));
  EXPECT_EQ(*second.begin(), milliseconds(2));
  EXPECT_EQ(*second.rbegin(), milliseconds(7)) << "the longest";
}

TEST(Sleep, LastsAsLongAsItShould) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(sleep_unless_stopped(milliseconds(5), {}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(5));
}

TEST(RetryBudget, ThreeSuccessesAreNotEnoughForARetry) {
  RetryBudget budget(1);
  EXPECT_TRUE(budget.take());
  for (int i = 0; i < 3; ++i) budget.succeeded();
  EXPECT_FALSE(budget.take());
  budget.succeeded();
  EXPECT_TRUE(budget.take());
}

}  // namespace
}  // namespace headrace
