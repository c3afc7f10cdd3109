#include "headrace/events/poll_schedule.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using std::chrono::milliseconds;

TEST(PollSchedule, ALiveFolderIsListedOnceASecond) {
  PollSchedule schedule;
  EXPECT_EQ(schedule.wait_after(true, milliseconds(20)), milliseconds(980));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(schedule.wait_after(false, milliseconds(50)), milliseconds(950));
}

TEST(PollSchedule, ListingNeverTakesMoreThanHalfTheTime) {
  PollSchedule schedule;
  EXPECT_EQ(schedule.wait_after(true, milliseconds(700)), milliseconds(700));
  EXPECT_EQ(schedule.wait_after(true, milliseconds(60'000)), milliseconds(10'000)) << "but no wait is longer";
}

TEST(PollSchedule, AQuietFolderIsListedLessOftenUntilSomethingChanges) {
  PollSchedule schedule;
  milliseconds waited{0};
  while (waited < PollSchedule::kLiveFor) waited += schedule.wait_after(false, milliseconds(0));
  milliseconds wait{0};
  for (int i = 0; i < 10; ++i) wait = schedule.wait_after(false, milliseconds(0));
  EXPECT_EQ(wait, PollSchedule::kLongestInterval);
  EXPECT_EQ(schedule.wait_after(true, milliseconds(0)), PollSchedule::kLiveInterval);
}

}  // namespace
}  // namespace headrace
