#include "headrace/engine/tensorflow/watchdog.h"

#include <gtest/gtest.h>

#include <future>

namespace headrace::tensorflow {
namespace {

TEST(Watchdog, ACallPastItsDeadlineIsReportedOnce) {
  std::promise<void> expired;
  Watchdog watchdog(std::chrono::milliseconds(5), [&] { expired.set_value(); });
  const Watchdog::Watch first(&watchdog);
  const Watchdog::Watch second(&watchdog);
  expired.get_future().wait();
  EXPECT_TRUE(watchdog.has_expired());
}

TEST(Watchdog, CallsThatEndAreNotReported) {
  Watchdog watchdog(std::chrono::hours(1), [] { FAIL() << "an hour has not passed"; });
  for (int i = 0; i < 100; ++i) {
    const Watchdog::Watch outer(&watchdog);
    const Watchdog::Watch inner(&watchdog);
  }
  EXPECT_FALSE(watchdog.has_expired());
}

TEST(Watchdog, NoneIsNeeded) { const Watchdog::Watch watch(nullptr); }

}  // namespace
}  // namespace headrace::tensorflow
