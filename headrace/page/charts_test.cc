#include "headrace/page/charts.h"

#include <gmock/gmock.h>

#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostile = "<script>alert('1')</script>\" onload=\"x";

std::size_t occurrences(std::string_view text, std::string_view of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != text.npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST(SquareChart, DrawsADotForEachPointAndExtendsToThem) {
  const std::string chart = html_square_chart({.x = "true", .y = "predicted"}, {{0, 0}, {3, 1}});
  EXPECT_EQ(occurrences(chart, "<circle"), 2U);
  EXPECT_THAT(chart, HasSubstr(">3</text>"));
  EXPECT_THAT(chart, HasSubstr(">predicted</text>"));
  EXPECT_THAT(chart, Not(HasSubstr("<polyline")));
}

TEST(SquareChart, DrawsACurveThroughThePoints) {
  const std::string chart =
      html_square_chart({.x = "x", .y = "y", .is_curve = true}, {{0, 0}, {1, 1, "end"}});
  EXPECT_THAT(chart, HasSubstr("<polyline points=\"64.0,332.0 384.0,12.0\"/>"));
  EXPECT_THAT(chart, HasSubstr("<title>end</title>"));
}

TEST(SquareChart, IsDrawnOfEqualTinyAndHugeNumbers) {
  const double most = std::numeric_limits<float>::max();
  for (const double number : {0.0, -5.0, 1e-300, most}) {
    const std::string chart =
        html_square_chart({.x = "x", .y = "y", .low = number, .high = number}, {{number, number}});
    EXPECT_THAT(chart, Not(HasSubstr("nan"))) << number;
    EXPECT_THAT(chart, Not(HasSubstr("inf"))) << number;
  }
}

TEST(BandChart, DrawsABandALineAndADotForEachPoint) {
  const BandChart chart{.x = "records",
                        .y = "error",
                        .is_log = true,
                        .first = {.name = "mine",
                                  .bands = {{1, 0.5, 1, 2}, {100, 0.05, 0.1, 0.2}},
                                  .points = {{10, 0.3, "ten"}}},
                        .marked_y = 0.07,
                        .has_mark = true};
  const std::string drawn = html_band_chart(chart);
  EXPECT_EQ(occurrences(drawn, "<polygon"), 1U);
  EXPECT_EQ(occurrences(drawn, "<polyline"), 1U);
  EXPECT_THAT(drawn, HasSubstr("<title>ten</title>"));
  EXPECT_THAT(drawn, HasSubstr("cx=\"416.0\"")) << "10 lies in the middle between 1 and 100";
  EXPECT_THAT(drawn, HasSubstr("class=\"diagonal\""));
}

TEST(BandChart, DrawsASecondLineInTheOtherColour) {
  const std::string drawn = html_band_chart({.x = "x",
                                             .y = "y",
                                             .first = {.name = "a", .bands = {{1, 1, 1, 1}}},
                                             .second = {.name = "b", .bands = {{2, 1, 1, 1}}}});
  EXPECT_THAT(drawn, HasSubstr("lower-line"));
}

TEST(BandChart, IsDrawnOfEqualZeroAndHugeNumbers) {
  for (const bool is_log : {false, true}) {
    for (const double y : {0.0, 1e-300, 1e300}) {
      const std::string drawn = html_band_chart(
          {.x = "x", .y = "y", .is_log = is_log, .first = {.name = "a", .bands = {{5, y, y, y}}}});
      EXPECT_THAT(drawn, Not(HasSubstr("nan"))) << y;
      EXPECT_THAT(drawn, Not(HasSubstr("inf"))) << y;
    }
  }
}

TEST(StackedBars, DrawsWhatIsThere) {
  const std::string bars = html_stacked_bars(
      {.x = "score", .lower_name = "no", .upper_name = "yes", .lower = {1500, 0}, .upper = {0, 2}});
  EXPECT_EQ(occurrences(bars, "<rect"), 4U) << "two in the legend, two bars";
  EXPECT_THAT(bars, HasSubstr("<title>1,500 no, 0 yes</title>"));
  EXPECT_THAT(bars, HasSubstr(">1.5k</text>"));
}

TEST(Matrix, ShadesEachCellByItsShareOfItsRow) {
  const std::string matrix = html_matrix(
      {"cat", "dog"}, [](std::size_t row, std::size_t column) { return row == 0 ? 3 - 2 * column : column; });
  EXPECT_EQ(occurrences(matrix, "class=\"right\""), 2U);
  EXPECT_EQ(occurrences(matrix, "class=\"wrong\""), 1U) << "a zero is not drawn";
  EXPECT_THAT(matrix, HasSubstr("cat answered as dog: 1, 25.0 %"));
  EXPECT_THAT(matrix, HasSubstr("dog answered as dog: 1, 100.0 %"));
}

TEST(Matrix, KeepsCountsShort) {
  for (const auto& [count, text] : {std::pair<std::uint64_t, std::string>(999, "999"),
                                    {1'000, "1.0k"},
                                    {9'960, "10k"},
                                    {999'499, "999k"},
                                    {999'500, "1.0M"},
                                    {std::numeric_limits<std::uint64_t>::max(), "18E"}}) {
    const std::string matrix = html_matrix({"a", "b"}, [count = count](std::size_t row, std::size_t column) {
      return row + column > 0 ? 0 : count;
    });
    EXPECT_THAT(matrix, HasSubstr(concat(">", text, "</text>")));
  }
}

TEST(Charts, LetNoNameBecomeMarkup) {
  const std::string hostile(kHostile);
  const std::string all =
      html_square_chart({.x = hostile, .y = hostile}, {{0, 0, hostile}}) +
      html_stacked_bars(
          {.x = hostile, .lower_name = hostile, .upper_name = hostile, .lower = {1}, .upper = {1}}) +
      html_matrix({hostile, hostile}, [](std::size_t, std::size_t) { return 1; }) +
      html_band_chart({.x = hostile,
                       .y = hostile,
                       .first = {.name = hostile, .points = {{1, 1, hostile}}},
                       .second = {.name = hostile}});
  EXPECT_THAT(all, Not(HasSubstr("<script")));
  EXPECT_THAT(all, Not(HasSubstr("\" onload")));
}

}  // namespace
}  // namespace headrace
