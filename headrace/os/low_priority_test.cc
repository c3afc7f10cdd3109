#include "headrace/os/low_priority.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>

namespace headrace {
namespace {

using namespace std::chrono_literals;

// SCHED_IDLE only where there is a way back.
void expect_low_or_kept(int policy) { EXPECT_TRUE(policy == SCHED_IDLE || policy == SCHED_OTHER) << policy; }

TEST(LowPriority, AThreadAloneIsLow) {
  ASSERT_EQ(sched_getscheduler(0), SCHED_OTHER);
  {
    const LowPriorityThread low;
    expect_low_or_kept(sched_getscheduler(0));
  }
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(LowPriority, ThreadsThatBeginMeanwhileGetTheUsualPriorityBack) {
  std::promise<void> is_over;
  std::promise<int> before, after;
  std::jthread thread;
  {
    const LowPriorityProcess low(1h);
    const int mine = sched_getscheduler(0);
    expect_low_or_kept(mine);
    thread = std::jthread([&] {
      before.set_value(sched_getscheduler(0));
      is_over.get_future().wait();
      after.set_value(sched_getscheduler(0));
    });
    EXPECT_EQ(before.get_future().get(), mine);
  }
  is_over.set_value();
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  EXPECT_EQ(after.get_future().get(), SCHED_OTHER);
}

TEST(LowPriority, EndsAfterTheLongestTime) {
  const LowPriorityProcess low(1ms);
  for (int i = 0; i < 10'000 && sched_getscheduler(0) == SCHED_IDLE; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace headrace
