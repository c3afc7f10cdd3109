#include "headrace/cli/braille_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(BrailleChart, ASpikeFillsItsColumn) {
  EXPECT_THAT(braille_chart({{0, 0}, {0, 0}, {0, 7}, {0, 0}}, 2, false),
              ElementsAre("           7 ⠀⡇", "           0 ⣀⣇"));
}

TEST(BrailleChart, ALogarithmicSideSpreadsSmallValues) {
  EXPECT_THAT(braille_chart({{1, 1}, {10, 10}, {100, 100}, {-1, -1}}, 1, true),
              ElementsAre("         100 ⡠⠁"));
}

TEST(BrailleChart, NothingFiniteIsEmptyAndEqualValuesAreALine) {
  EXPECT_THAT(braille_chart({{NAN, NAN}, {INFINITY, INFINITY}}, 1, false), ElementsAre("             ⠀"));
  EXPECT_THAT(braille_chart({{3, 3}, {3, 3}}, 1, false), ElementsAre("           3 ⠤"));
}

TEST(BrailleChart, ADifferenceThatIsLostInRoundingIsALine) {
  const double next = std::nextafter(1000.0, 2000.0);
  EXPECT_THAT(braille_chart({{1000, 1000}, {next, next}}, 1, true), ElementsAre("        1000 ⠤"));
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_THAT(braille_chart({{0, 0}, {smallest, smallest}}, 1, false), ElementsAre("4.94066e-324 ⠤"));
}

}  // namespace
}  // namespace headrace
