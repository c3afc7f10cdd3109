#include "headrace/cli/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace {
namespace {

TEST(Sparkline, IsBlocksBetweenTheExtremes) {
  EXPECT_EQ(sparkline({0, 7, 14}, 3), "▁▄█");
  EXPECT_EQ(sparkline({5, 5}, 9), "▁▁");
  EXPECT_EQ(sparkline({}, 9), "");
}

TEST(Sparkline, AColumnIsTheMeanOfItsValues) { EXPECT_EQ(sparkline({0, 2, 5, 9}, 2), "▁█"); }

TEST(Sparkline, AColumnWithoutANumberIsBlank) { EXPECT_EQ(sparkline({1, NAN, 2}, 3), "▁ █"); }

}  // namespace
}  // namespace headrace
