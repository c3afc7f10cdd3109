#include "headrace/events/thinning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace headrace {
namespace {

TEST(Thinning, EveryColumnKeepsItsLeastAndGreatestValue) {
  std::vector<std::int64_t> steps(10'000);
  std::iota(steps.begin(), steps.end(), 1000);
  std::vector<double> values(steps.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i) * 0.37);
  values[4321] = 100;
  values[6789] = -100;
  const std::vector<std::size_t> kept = thin_curve(steps, values, 202);
  EXPECT_LE(kept.size(), 202U);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(kept.front(), 0U);
  EXPECT_EQ(kept.back(), 9'999U);
  for (std::size_t column = 0; column < 100; ++column) {
    const auto begin = static_cast<std::ptrdiff_t>(column * 100);
    double least = values[kept.front()], greatest = least;
    bool any = false;
    for (const std::size_t place : kept) {
      if (place / 100 != column) continue;
      least = any ? std::min(least, values[place]) : values[place];
      greatest = any ? std::max(greatest, values[place]) : values[place];
      any = true;
    }
    EXPECT_EQ(least, *std::min_element(values.begin() + begin, values.begin() + begin + 100)) << column;
    EXPECT_EQ(greatest, *std::max_element(values.begin() + begin, values.begin() + begin + 100)) << column;
  }
}

TEST(Thinning, FewPointsAreAllKeptAndFewWantedAreTheEnds) {
  const std::vector<std::int64_t> steps = {1, 2, 5, 9};
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_EQ(thin_curve(steps, values, 4), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(thin_curve(steps, values, 1), std::vector<std::size_t>{3});
  EXPECT_EQ(thin_curve(steps, values, 2), (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(thin_curve(steps, values, 3).size(), 3U);
  EXPECT_TRUE(thin_curve(steps, values, 0).empty());
  EXPECT_TRUE(thin_curve({}, {}, 10).empty());
}

TEST(Thinning, StepsMaySpanTheWholeRangeOfNumbers) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> steps = {kLeast, -5, 0, 1, 2, 3, kGreatest};
  const std::vector<double> values = {0, 1, 2, 9, -9, 3, 4};
  EXPECT_EQ(thin_curve(steps, values, 6), (std::vector<std::size_t>{0, 1, 3, 4, 6}));
}

TEST(Thinning, ValuesThatAreNoNumbersGiveWayToNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> steps(100);
  std::iota(steps.begin(), steps.end(), 0);
  std::vector<double> values(100, nan);
  values[30] = 1;
  const std::vector<std::size_t> kept = thin_curve(steps, values, 6);
  EXPECT_TRUE(std::find(kept.begin(), kept.end(), 30U) != kept.end());
  EXPECT_EQ(kept.size(), 4U) << "one of the second column, where there is nothing else";
}

TEST(Thinning, EvenlySpacedHasBothEnds) {
  EXPECT_EQ(thin_evenly(101, 3), (std::vector<std::size_t>{0, 50, 100}));
  EXPECT_EQ(thin_evenly(5, 1), std::vector<std::size_t>{4});
  EXPECT_EQ(thin_evenly(2, 5), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(thin_evenly(5, 0).empty());
}

}  // namespace
}  // namespace headrace
