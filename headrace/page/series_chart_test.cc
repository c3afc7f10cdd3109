#include "headrace/page/series_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

SeriesChart chart_of(std::vector<SeriesChart::Column> columns, bool is_log = false) {
  return {.y = "loss",
          .x_labels = {{0, "0"}, {0.75, "10"}},
          .is_log = is_log,
          .series = {{"run-1", std::move(columns)}}};
}

TEST(SeriesChart, DrawsTheBandAndTheLine) {
  const std::string drawn = html_series_chart(chart_of({{0, 1, 3, 2}, {1, 0, 4, 4}}));
  EXPECT_THAT(drawn, HasSubstr("<polygon points=\"84.0,92.0 944.0,12.0 944.0,332.0 84.0,252.0 \""));
  EXPECT_THAT(drawn, HasSubstr("<polyline points=\"84.0,172.0 944.0,12.0 \""));
  EXPECT_THAT(drawn, HasSubstr(">run-1</text>"));
  EXPECT_THAT(drawn, HasSubstr("<text x=\"729.0\" y=\"350.0\" text-anchor=\"middle\">10</text>"));
}

TEST(SeriesChart, ALogarithmicSideLeavesOutWhatIsNotPositive) {
  const std::string drawn = html_series_chart(chart_of({{0, -1, 100, 0}, {1, 1, 1, 1}}, true));
  EXPECT_THAT(drawn, HasSubstr("<polyline points=\"944.0,332.0 \""));
  EXPECT_THAT(drawn, HasSubstr("<polygon points=\"84.0,12.0 944.0,332.0 944.0,332.0 84.0,332.0 \""));
}

TEST(SeriesChart, MarksValuesThatAreNotFinite) {
  const std::string drawn = html_series_chart(chart_of({{0, 1, 1, 1}, {0.5, NAN, NAN, NAN, true}}));
  EXPECT_THAT(drawn, HasSubstr("NaN or infinite"));
  EXPECT_THAT(drawn, Not(HasSubstr("nan,")));
}

TEST(SeriesChart, AnyNumbersGiveCoordinates) {
  for (const double value : {0.0, 1e-300, -1e300, 1.79e308, std::numeric_limits<double>::denorm_min()}) {
    for (const bool is_log : {false, true}) {
      const std::string drawn =
          html_series_chart(chart_of({{0, -value, value, value}, {2, 0, 0, 0}}, is_log));
      EXPECT_THAT(drawn, Not(HasSubstr("nan"))) << value;
      EXPECT_THAT(drawn, Not(HasSubstr("inf"))) << value;
    }
  }
  const double next = std::nextafter(1000.0, 2000.0);
  EXPECT_THAT(html_series_chart(chart_of({{0, 1000, 1000, 1000}, {1, next, next, next}}, true)),
              Not(HasSubstr("nan")));
  EXPECT_THAT(html_series_chart({.y = "", .x_labels = {}}), HasSubstr("<svg"));
}

TEST(SeriesChart, AFileHasItsStyleAndNoNameBecomesMarkup) {
  const std::string hostile = "<script>\" onload=\"";
  const std::string drawn =
      svg_series_chart({.y = hostile, .x_labels = {{0, hostile}}, .series = {{hostile, {}}}});
  EXPECT_THAT(drawn, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(drawn, HasSubstr("<style>"));
  EXPECT_THAT(drawn, Not(HasSubstr("<script")));
  EXPECT_THAT(drawn, Not(HasSubstr("\" onload")));
}

}  // namespace
}  // namespace headrace
