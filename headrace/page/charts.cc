#include "headrace/page/charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/page/svg.h"

namespace headrace {
namespace {

constexpr std::size_t kNameBytes = 24;
constexpr std::size_t kTitleBytes = 60;
constexpr int kTicks = 5;

using svg::at;
using svg::label;
using svg::line;
using svg::picture;
using svg::tooltip;
using svg::turned;

// The side of the square chart, and the space around it in the picture.
constexpr double kSide = 320, kLeft = 64, kTop = 12, kBelow = 48, kRight = 16;

struct Range {
  double low;
  double high;
  double place(double value) const { return kSide * (value - low) / (high - low); }
};

Range range_of(const SquareChart& chart, const std::vector<ChartPoint>& points) {
  Range out{chart.low, chart.high};
  for (const ChartPoint& point : points) {
    out.low = std::min({out.low, point.x, point.y});
    out.high = std::max({out.high, point.x, point.y});
  }
  const double size = std::max(std::abs(out.low), std::abs(out.high));
  if (out.high - out.low <= size / 1e9) out.high = out.low + std::max(1.0, size / 1000);
  return out;
}

std::string axes(const SquareChart& chart, const Range& range) {
  std::string out;
  const double bottom = kTop + kSide;
  for (int i = 0; i < kTicks; ++i) {
    const double share = static_cast<double>(i) / (kTicks - 1), along = kSide * share;
    const std::string number = shortened(range.low + (range.high - range.low) * share);
    out += line(kLeft + along, kTop, kLeft + along, bottom, "grid");
    out += line(kLeft, bottom - along, kLeft + kSide, bottom - along, "grid");
    out += label(kLeft + along, bottom + 16, number, "middle");
    out += label(kLeft - 6, bottom - along + 4, number, "end");
  }
  out += line(kLeft, bottom, kLeft + kSide, kTop, "diagonal");
  out += label(kLeft + kSide / 2, bottom + 38, beginning_of(chart.x, kTitleBytes), "middle");
  const double middle = kTop + kSide / 2;
  out += label(12, middle, beginning_of(chart.y, kTitleBytes), "middle", turned(12, middle, -90));
  return out;
}

constexpr double kBarsWidth = 400, kBarsHeight = 160;

std::string legend(double x, double y, std::string_view name, std::string_view style) {
  return concat("<rect class=\"", style, "\" x=\"", at(x), "\" y=\"", at(y - 10),
                "\" width=\"12\" height=\"12\"/>", label(x + 18, y, beginning_of(name, kNameBytes), "start"));
}

std::string bar(double x, double y, double width, double height, std::string_view style,
                std::string_view title) {
  return concat("<rect class=\"", style, "\" x=\"", at(x), "\" y=\"", at(y), "\" width=\"", at(width),
                "\" height=\"", at(height), "\">", tooltip(title), "</rect>");
}

// Writes a count so that it fits a cell: "37", "1.2k", "45k" or "3.1M".
std::string short_count(std::uint64_t count) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  auto number = static_cast<double>(count);
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  return concat(unit > 0 && number < 9.95 ? at(number) : concat(std::llround(number)), kUnits[unit]);
}

double cell_side(std::size_t names) { return names <= 12 ? 46 : names <= 25 ? 34 : 24; }

// The rectangle of a band chart, and the space around it.
constexpr double kBandWidth = 640, kBandHeight = 300, kBandTop = 32, kBandLeft = 96, kBandRight = 40;
constexpr double kDecadeRoom = 1.0 + 1e-9;

// An axis of a band chart. `share` tells where a value lies along the axis, from 0 to 1.
struct BandSide {
  bool is_log = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (!std::isfinite(value) || (is_log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void close() {
    if (!(low <= high)) low = high = 1;
    if (high <= low * kDecadeRoom) high = low + (is_log ? low : std::max(1e-9, std::abs(low)));
  }
  double share(double value) const {
    const double cut = std::clamp(value, low, high);
    return is_log ? std::log(cut / low) / std::log(high / low) : (cut - low) / (high - low);
  }
  double value(double share) const {
    return is_log ? low * std::pow(high / low, share) : low + (high - low) * share;
  }
};

struct BandPlace {
  BandSide x, y;
  std::string at_x(double value) const { return at(kBandLeft + kBandWidth * x.share(value)); }
  std::string at_y(double value) const { return at(kBandTop + kBandHeight * (1 - y.share(value))); }
};

BandPlace place_of(const BandChart& chart) {
  BandPlace out{.x = {.is_log = true}, .y = {.is_log = chart.is_log}};
  if (chart.has_mark) out.y.include(chart.marked_y);
  for (const BandChart::Line* line : {&chart.first, &chart.second}) {
    for (const BandChart::Band& band : line->bands) {
      out.x.include(band.x);
      for (const double y : {band.low, band.middle, band.high}) out.y.include(y);
    }
    for (const ChartPoint& point : line->points) {
      out.x.include(point.x);
      out.y.include(point.y);
    }
  }
  out.x.close();
  out.y.close();
  return out;
}

std::string band_axes(const BandChart& chart, const BandPlace& place) {
  std::string out;
  const double bottom = kBandTop + kBandHeight;
  for (int i = 0; i < kTicks; ++i) {
    const double share = static_cast<double>(i) / (kTicks - 1);
    const double x = kBandLeft + kBandWidth * share, y = bottom - kBandHeight * share;
    out += line(x, kBandTop, x, bottom, "grid") + line(kBandLeft, y, kBandLeft + kBandWidth, y, "grid");
    out += label(x, bottom + 16, three_digits(place.x.value(share)), "middle");
    out += label(kBandLeft - 6, y + 4, three_digits(place.y.value(share)), "end");
  }
  out += label(kBandLeft + kBandWidth / 2, bottom + 38, beginning_of(chart.x, kTitleBytes), "middle");
  const double middle = kBandTop + kBandHeight / 2;
  return out + label(12, middle, beginning_of(chart.y, kTitleBytes), "middle", turned(12, middle, -90));
}

// `style`: "upper" or "lower", which have different colours.
std::string band_line(const BandChart::Line& of, const BandPlace& place, std::string_view style) {
  std::string there, back, middle, dots;
  for (const BandChart::Band& band : of.bands) {
    const std::string x = place.at_x(band.x);
    there += concat(x, ",", place.at_y(band.high), " ");
    back = concat(x, ",", place.at_y(band.low), " ", back);
    middle += concat(x, ",", place.at_y(band.middle), " ");
  }
  for (const ChartPoint& point : of.points)
    dots += concat("<circle class=\"", style, "\" cx=\"", place.at_x(point.x), "\" cy=\"",
                   place.at_y(point.y), "\" r=\"3\">", tooltip(point.title), "</circle>");
  if (of.bands.empty()) return dots;
  return concat("<polygon class=\"", style, "\" fill-opacity=\"20%\" points=\"", there, back,
                "\"/><polyline class=\"", style, "-line\" points=\"", middle, "\"/>", dots);
}

}  // namespace

std::string html_band_chart(const BandChart& chart) {
  const BandPlace place = place_of(chart);
  std::string out = band_axes(chart, place) + legend(kBandLeft, 16, chart.first.name, "upper");
  if (chart.has_mark) {
    const double y = kBandTop + kBandHeight * (1 - place.y.share(chart.marked_y));
    out += line(kBandLeft, y, kBandLeft + kBandWidth, y, "diagonal");
  }
  out += band_line(chart.first, place, "upper");
  if (!chart.second.name.empty())
    out += legend(kBandLeft + kBandWidth / 2, 16, chart.second.name, "lower") +
           band_line(chart.second, place, "lower");
  return picture(kBandLeft + kBandWidth + kBandRight, kBandTop + kBandHeight + kBelow, out);
}

std::string html_square_chart(const SquareChart& chart, const std::vector<ChartPoint>& points) {
  const Range range = range_of(chart, points);
  std::string out = axes(chart, range), path;
  for (const ChartPoint& point : points) {
    const std::string x = at(kLeft + range.place(point.x)), y = at(kTop + kSide - range.place(point.y));
    if (chart.is_curve) path += concat(path.empty() ? "" : " ", x, ",", y);
    if (!chart.is_curve || !point.title.empty())
      out += concat("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"", chart.is_curve ? 4 : 3, "\">",
                    tooltip(point.title), "</circle>");
  }
  if (!path.empty()) out += concat("<polyline points=\"", path, "\"/>");
  return picture(kLeft + kSide + kRight, kTop + kSide + kBelow, out);
}

std::string html_stacked_bars(const StackedBars& bars) {
  const std::size_t count = bars.lower.size();
  std::uint64_t highest = 1;
  for (std::size_t i = 0; i < count; ++i) highest = std::max(highest, bars.lower[i] + bars.upper[i]);
  const double width = kBarsWidth / static_cast<double>(std::max<std::size_t>(1, count));
  const double top = 32, bottom = top + kBarsHeight;
  std::string out = legend(kLeft, 16, bars.lower_name, "lower") +
                    legend(kLeft + kBarsWidth / 2, 16, bars.upper_name, "upper") +
                    label(kLeft - 6, top + 10, short_count(highest), "end") +
                    label(kLeft - 6, bottom, "0", "end");
  for (std::size_t i = 0; i < count; ++i) {
    const auto scaled = [&](std::uint64_t n) {
      return kBarsHeight * static_cast<double>(n) / static_cast<double>(highest);
    };
    const double x = kLeft + width * static_cast<double>(i), low = scaled(bars.lower[i]),
                 high = scaled(bars.upper[i]);
    const std::string title =
        concat(grouped(bars.lower[i]), " ", beginning_of(bars.lower_name, kNameBytes), ", ",
               grouped(bars.upper[i]), " ", beginning_of(bars.upper_name, kNameBytes));
    if (bars.lower[i] > 0) out += bar(x + 1, bottom - low, width - 2, low, "lower", title);
    if (bars.upper[i] > 0) out += bar(x + 1, bottom - low - high, width - 2, high, "upper", title);
  }
  out += line(kLeft, bottom, kLeft + kBarsWidth, bottom, "axis");
  for (const double share : {0.0, 0.5, 1.0})
    out += label(kLeft + kBarsWidth * share, bottom + 16, shortened(share), "middle");
  out += label(kLeft + kBarsWidth / 2, bottom + 34, beginning_of(bars.x, kTitleBytes), "middle");
  return picture(kLeft + kBarsWidth + kRight, bottom + 44, out);
}

std::string html_matrix(const std::vector<std::string>& names,
                        const std::function<std::uint64_t(std::size_t, std::size_t)>& count) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, std::min(name.size(), kNameBytes));
  const double room = 20 + 7 * static_cast<double>(longest);  // for names, at the left and at the top
  const double side = cell_side(names.size()), size = side * static_cast<double>(names.size());
  std::string out;
  for (std::size_t row = 0; row < names.size(); ++row) {
    const double y = room + side * static_cast<double>(row), middle = y + side / 2 + 4;
    const std::string name = beginning_of(names[row], kNameBytes);
    out += label(room - 8, middle, name, "end");
    out += label(middle, room - 8, name, "start", turned(middle, room - 8, -90));
    std::uint64_t all = 0;
    for (std::size_t column = 0; column < names.size(); ++column) all += count(row, column);
    for (std::size_t column = 0; column < names.size(); ++column) {
      const std::uint64_t here = count(row, column);
      if (here == 0) continue;
      const double share = static_cast<double>(here) / static_cast<double>(all);
      const double x = room + side * static_cast<double>(column);
      const std::string title = concat(name, " answered as ", beginning_of(names[column], kNameBytes), ": ",
                                       grouped(here), ", ", percentage(share));
      out += concat("<g class=\"", row == column ? "right" : "wrong", "\"><rect x=\"", at(x), "\" y=\"",
                    at(y), "\" width=\"", at(side), "\" height=\"", at(side), "\" fill-opacity=\"",
                    std::llround(10 + 50 * share), "%\"/>",
                    label(x + side / 2, middle, short_count(here), "middle"), tooltip(title), "</g>");
    }
  }
  out += concat("<rect class=\"frame\" x=\"", at(room), "\" y=\"", at(room), "\" width=\"", at(size),
                "\" height=\"", at(size), "\"/>");
  return picture(room + size + 2, room + size + 2, out);
}

}  // namespace headrace
