#include "headrace/net/backoff.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headrace
