#pragma once

/// \file Charts as SVG, in the colours of the page. Names and titles are texts; they are escaped and cut to a
/// readable length. A pointer that rests on a part of a chart gets the part's numbers.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string title{};  // shown for a pointer that rests on it; "": nothing
};

/// A square with the same numbers along both sides, and its diagonal.
struct SquareChart {
  std::string_view x;  // what the sides show
  std::string_view y;
  double low = 0;  // the sides begin and end here, or where the points do, whichever is farther
  double high = 1;
  bool is_curve = false;  // a line through the points; else a dot for each
};
/// REQUIRES: no number is larger than a float32 can be
std::string html_square_chart(const SquareChart& chart, const std::vector<ChartPoint>& points);

/// Counts of two kinds, one upon the other, in parts of equal width from 0 to 1.
struct StackedBars {
  std::string_view x;  // what the bottom side shows
  std::string_view lower_name;
  std::string_view upper_name;
  std::vector<std::uint64_t> lower;
  std::vector<std::uint64_t> upper;  // as many
};
std::string html_stacked_bars(const StackedBars& bars);

/// A square of counts: each cell is shaded by its share of its row. The diagonal has one colour, the rest
/// another; zeros are empty.
/// \param names  of the rows and columns: 2 to kMatrixNames
std::string html_matrix(const std::vector<std::string>& names,
                        const std::function<std::uint64_t(std::size_t, std::size_t)>& count);
inline constexpr std::size_t kMatrixNames = 50;

}  // namespace headrace
