#include "headrace/events/samples.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

TEST(ScalarColumns, AStepThatGoesBackRemovesWhatItRepeats) {
  ScalarColumns columns;
  for (const std::int64_t step : {1, 2, 3, 4}) columns.add(step, 10, 1);
  columns.add(3, 20, 2);
  EXPECT_EQ(columns.steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(columns.values, (std::vector<double>{1, 1, 2}));
  columns.add(0, 30, 3);
  EXPECT_EQ(columns.wall_times_s, std::vector<double>{30});
}

std::vector<std::int64_t> steps_of(const SampleList<int>& list) {
  std::vector<std::int64_t> out;
  for (const Sample<int>& sample : list.samples()) out.push_back(sample.step);
  return out;
}

TEST(SampleList, StaysWithinItsBoundsEvenlySpacedWithBothEnds) {
  SampleList<int> list;
  for (std::int64_t step = 0; step < 1000; ++step) {
    list.add(step, 0, 0, 1, {.samples = 10, .bytes = 1000});
    ASSERT_LE(list.size(), 10U);
    ASSERT_EQ(list.samples().back().step, step);
  }
  EXPECT_EQ(steps_of(list), (std::vector<std::int64_t>{0, 128, 256, 384, 512, 640, 768, 896, 999}));
}

TEST(SampleList, LargeSamplesCountByTheirBytes) {
  SampleList<int> list;
  for (std::int64_t step = 0; step < 100; ++step) list.add(step, 0, 0, 30, {.samples = 1000, .bytes = 100});
  EXPECT_LE(list.size(), 3U);
  EXPECT_EQ(steps_of(list).front(), 0);
  EXPECT_EQ(steps_of(list).back(), 99);
  SampleList<int> huge;
  for (std::int64_t step = 0; step < 5; ++step)
    huge.add(step, 0, 0, 1 << 20, {.samples = 1000, .bytes = 100});
  EXPECT_EQ(steps_of(huge), (std::vector<std::int64_t>{0, 4}));
}

TEST(SampleList, AStepThatGoesBackRemovesWhatItRepeats) {
  SampleList<int> list;
  for (const std::int64_t step : {1, 2, 3, 4, 2}) list.add(step, 0, 0, 1, {});
  EXPECT_EQ(steps_of(list), (std::vector<std::int64_t>{1, 2}));
  list.add(0, 0, 0, 1, {});
  EXPECT_EQ(steps_of(list), std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace headrace
