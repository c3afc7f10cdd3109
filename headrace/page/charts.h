#pragma once

/// \file Charts as SVG, in the colours of the page. Names and titles are plain texts; they are escaped, and
/// cut to a readable length. While the pointer rests on a part of a chart, the part's numbers are shown.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string title{};  // shown while the pointer rests on the point; "": nothing
};

/// A square with the same scale along both sides, and its diagonal.
struct SquareChart {
  std::string_view x;  // what the sides show
  std::string_view y;
  double low = 0;  // the range of both sides; points outside widen it
  double high = 1;
  bool is_curve = false;  // a line through the points; else a dot for each point
};
/// REQUIRES: no number exceeds the range of float32
std::string html_square_chart(const SquareChart& chart, const std::vector<ChartPoint>& points);

/// Values over a size that spans orders of magnitude: the x axis is logarithmic.
struct BandChart {
  std::string_view x;  // what the sides show
  std::string_view y;
  bool is_log = false;  // the y axis is logarithmic, too
  struct Band {
    double x = 0;
    double low = 0;
    double middle = 0;
    double high = 0;
  };
  struct Line {
    std::string_view name;    // shown above the chart
    std::vector<Band> bands;  // by rising x: a line through the middles, shaded from low to high
    std::vector<ChartPoint> points;
  };
  Line first{};
  Line second{};        // drawn in the other colour, if it has a name
  double marked_y = 0;  // a dashed horizontal line, if `has_mark`
  bool has_mark = false;
};
/// REQUIRES: every x is above 0 and finite; with `is_log`, every y is above 0 (a low end at or below 0 is
/// cut off)
std::string html_band_chart(const BandChart& chart);

/// Counts of two kinds, stacked, in parts of equal width from 0 to 1.
struct StackedBars {
  std::string_view x;  // what the bottom side shows
  std::string_view lower_name;
  std::string_view upper_name;
  std::vector<std::uint64_t> lower;
  std::vector<std::uint64_t> upper;  // as many as `lower`
};
std::string html_stacked_bars(const StackedBars& bars);

/// A square of counts. Each cell is shaded by its share of its row. The diagonal has one colour, all other
/// cells another; zeros are empty.
/// \param names  of the rows and columns: 2 to kMatrixNames
/// \param count  of (row, column)
std::string html_matrix(const std::vector<std::string>& names,
                        const std::function<std::uint64_t(std::size_t, std::size_t)>& count);
inline constexpr std::size_t kMatrixNames = 50;

}  // namespace headrace
