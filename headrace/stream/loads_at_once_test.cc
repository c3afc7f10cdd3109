#include "headrace/stream/loads_at_once.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace headrace {
namespace {

constexpr double kBlockBytes = 8e6;

// A caller that waits for `seconds` in slices. The store delivers `rate(limit)` blocks per second.
void wait(LoadsAtOnce& loads, double seconds, const std::function<double(int)>& rate) {
  double owed = 0;
  for (double now = 0; now < seconds; now += 0.02) {
    owed += 0.02 * rate(loads.limit());
    const auto blocks = static_cast<std::uint64_t>(owed);
    owed -= static_cast<double>(blocks);
    loads.add(0.02, blocks, static_cast<std::uint64_t>(static_cast<double>(blocks) * kBlockBytes));
  }
}

double far(int limit) { return limit / 0.1; }                          // each waits for 100 ms
double near(int limit) { return limit <= 4 ? 200 : 200 - 2 * limit; }  // more only cost
double bounded(int limit) { return std::min(limit / 0.1, 60.0); }      // six fill the line
double dead(int) { return 0; }

TEST(LoadsAtOnce, AFarStoreIsAskedForAsManyAsMayBe) {
  LoadsAtOnce loads(2, 4, 16);
  wait(loads, 5, far);
  EXPECT_EQ(loads.limit(), 16);
}

TEST(LoadsAtOnce, ANearStoreIsAskedForFew) {
  LoadsAtOnce loads(2, 4, 16);
  wait(loads, 10, near);
  EXPECT_EQ(loads.limit(), 4);
}

TEST(LoadsAtOnce, ALineThatIsFullGetsNoMore) {
  LoadsAtOnce loads(2, 4, 64);
  wait(loads, 10, bounded);
  EXPECT_EQ(loads.limit(), 8);
}

TEST(LoadsAtOnce, AStoreThatGivesNothingYetIsAskedForAllAtOnce) {
  LoadsAtOnce loads(2, 4, 16);
  wait(loads, 0.5, dead);
  EXPECT_EQ(loads.limit(), 16);
  wait(loads, 20, near);  // it only woke up late
  EXPECT_EQ(loads.limit(), 4);
}

TEST(LoadsAtOnce, LooksAgainAfterAWhile) {
  LoadsAtOnce loads(2, 4, 16);
  wait(loads, 10, near);
  ASSERT_EQ(loads.limit(), 4);
  wait(loads, 60, far);
  EXPECT_EQ(loads.limit(), 16);
  wait(loads, 60, near);
  EXPECT_EQ(loads.limit(), 4);
}

TEST(LoadsAtOnce, ManyCoresLeaveOneStep) {
  LoadsAtOnce loads(8, 16, 16);
  wait(loads, 5, far);
  EXPECT_EQ(loads.limit(), 16);
}

TEST(LoadsAtOnce, ANumberThatWasAskedForStays) {
  LoadsAtOnce loads(3, 3, 3);
  wait(loads, 5, dead);
  wait(loads, 5, far);
  EXPECT_EQ(loads.limit(), 3);
}

}  // namespace
}  // namespace headrace
