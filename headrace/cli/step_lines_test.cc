#include "headrace/cli/step_lines.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

std::string plain(std::string_view name) { return std::string(name); }

TEST(StepLines, AStepIsALine) {
  const auto lines = step_lines({{"loss", 0, 1, 1000, 0.5},
                                 {"loss", 0, 2, 3000, 0.25},
                                 {"accuracy", 0, 1, 1000, 0.75},
                                 {"accuracy", 0, 2, 3001, 1.0}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].step, 1);
  EXPECT_EQ(lines[0].time_us, 1000);
  EXPECT_EQ(lines[0].metrics, (std::map<std::string, double>{{"accuracy", 0.75}, {"loss", 0.5}}));
  EXPECT_EQ(lines[1].metrics.size(), 2U);
}

TEST(StepLines, RanksHaveLinesOfTheirOwnAndARepeatedMetricBeginsOne) {
  const auto lines = step_lines({{"loss", 0, 1, 10, 1},
                                 {"loss", 1, 1, 11, 2},
                                 {"accuracy", 0, 1, 12, 3},
                                 {"loss", 0, 1, 13, 4},
                                 {"loss", 0, 0, 14, 5}});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].metrics.size(), 2U);
  EXPECT_EQ(lines[1].rank, 1U);
  EXPECT_EQ(lines[2].metrics.at("loss"), 4);
  EXPECT_EQ(lines[3].step, 0);
}

TEST(StepLines, AreSetBelowEachOther) {
  StepLineFormat format;
  const std::int64_t time_us = 1'795'749'960'125'000;
  EXPECT_EQ(format.line({0, 8, time_us, {{"a", 0.125}, {"loss", 1}}}, plain),
            "step 8  2026-11-27T03:26:00.125Z  a=0.125  loss=1");
  EXPECT_EQ(format.line({0, 9, time_us, {{"a", 1}, {"loss", 1.0 / 3}}}, plain),
            "step 9  2026-11-27T03:26:00.125Z  a=1      loss=0.333333");
  EXPECT_EQ(format.line({3, 10, time_us, {{"loss", 2}}}, plain),
            "rank 3  step 10  2026-11-27T03:26:00.125Z  loss=2");
  EXPECT_EQ(format.line({0, 1, time_us, {{"loss", 2}}}, plain), "step  1  2026-11-27T03:26:00.125Z  loss=2");
}

}  // namespace
}  // namespace headrace
