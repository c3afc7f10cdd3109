#include "headrace/engine_process/low_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>
#include <thread>

namespace headrace {
namespace {

int priority() { return getpriority(PRIO_PROCESS, 0); }

TEST(LowPriority, ThreadsThatBeginMeanwhileGetTheUsualPriorityBack) {
  std::promise<void> is_over;
  std::promise<int> before, after;
  std::jthread thread;
  {
    const LowPriority low;
    const int mine = priority();
    EXPECT_TRUE(mine == 19 || mine == 0 || mine == 1) << "19 where there is a way back";
    thread = std::jthread([&] {
      before.set_value(priority());
      is_over.get_future().wait();
      after.set_value(priority());
    });
    EXPECT_EQ(before.get_future().get(), mine);
  }
  is_over.set_value();
  const int expected = priority();
  EXPECT_LE(expected, 1);
  EXPECT_EQ(after.get_future().get(), expected);
}

}  // namespace
}  // namespace headrace
