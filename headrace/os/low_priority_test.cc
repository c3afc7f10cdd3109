#include "headrace/os/low_priority.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace {
// Each is done once: before a thread gets the low priority, and before the first one gets the usual one back.
std::function<void()> before_lower, before_raise;
}  // namespace

// Replaces the C library's function in the whole program.
extern "C" int sched_setscheduler(pid_t thread, int policy, const sched_param* parameters) noexcept {
  std::function<void()>& before = policy == SCHED_OTHER ? before_raise : before_lower;
  if (before) std::exchange(before, nullptr)();
  return static_cast<int>(syscall(SYS_sched_setscheduler, thread, policy, parameters));
}

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

TEST(LowPriority, ATimeThatIsOverBeforeItBeginsEndsItToo) {
  before_lower = [] { std::this_thread::sleep_for(50ms); };
  const LowPriorityProcess low(1ms);
  before_lower = nullptr;  // without a way back, nothing was lowered
  for (int i = 0; i < 10'000 && sched_getscheduler(0) == SCHED_IDLE; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(LowPriority, AThreadThatALowOneStartsMeanwhileGetsTheUsualPriorityBack) {
  std::promise<void> asked, begun, is_over;
  std::promise<int> after;
  std::jthread low_thread, started;
  before_raise = [&] {
    asked.set_value();
    begun.get_future().wait();
  };
  {
    const LowPriorityProcess low(1h);
    low_thread = std::jthread([&] {
      asked.get_future().wait();
      started = std::jthread([&] {
        begun.set_value();
        is_over.get_future().wait();
        after.set_value(sched_getscheduler(0));
      });
    });
  }
  if (before_raise) std::exchange(before_raise, nullptr)();  // without a way back, nothing was raised
  is_over.set_value();
  EXPECT_EQ(after.get_future().get(), SCHED_OTHER);
  low_thread.join();
}

}  // namespace
}  // namespace headrace
