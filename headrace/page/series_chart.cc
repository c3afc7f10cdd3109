#include "headrace/page/series_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/page/page_style.h"
#include "headrace/page/svg.h"

namespace headrace {
namespace {

constexpr double kSeriesWidth = 860, kSeriesHeight = 320, kSeriesLeft = 84, kSeriesTop = 12;
constexpr double kSeriesRight = 24, kSeriesBelow = 28, kLegendHeight = 20, kLegendColumn = 286;
constexpr std::size_t kLegendBytes = 36;
constexpr int kSeriesTicks = 5;
constexpr std::size_t kColours = 8;
constexpr double kMostValue = std::numeric_limits<double>::max();

/// The left side: where a value lies, from 0 at the bottom to 1.
class SeriesSide {
 public:
  explicit SeriesSide(const SeriesChart& chart) : is_log_(chart.is_log) {
    for (const SeriesChart::Series& series : chart.series) {
      for (const SeriesChart::Column& column : series.columns) {
        for (const double value : {column.least, column.most, column.line}) include(value);
      }
    }
    if (!(low_ <= high_)) low_ = high_ = scaled(1);
    if (high_ - low_ <= std::abs(high_) * 1e-9) {
      const double room = std::max(1e-9, std::abs(high_) / 100);
      low_ = std::max(low_ - room, -kMostValue);
      high_ = std::min(high_ + room, kMostValue);
    }
  }

  std::optional<double> share(double value) const {
    if (!shows(value)) return std::nullopt;
    // Halves: the difference of two large numbers is infinite.
    return std::clamp((scaled(value) / 2 - low_ / 2) / (high_ / 2 - low_ / 2), 0.0, 1.0);
  }
  double value(double share) const {
    const double at = low_ * (1 - share) + high_ * share;
    return is_log_ ? std::min(std::pow(10, at), kMostValue) : at;
  }

 private:
  bool shows(double value) const { return std::isfinite(value) && (!is_log_ || value > 0); }
  double scaled(double value) const { return is_log_ ? std::log10(value) : value; }
  void include(double value) {
    if (!shows(value)) return;
    low_ = std::min(low_, scaled(value));
    high_ = std::max(high_, scaled(value));
  }

  bool is_log_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

std::string series_x(double share) {
  return svg::at(kSeriesLeft + kSeriesWidth * std::clamp(share, 0.0, 1.0));
}
std::string series_y(double share) { return svg::at(kSeriesTop + kSeriesHeight * (1 - share)); }

std::string series_axes(const SeriesChart& chart, const SeriesSide& side) {
  std::string out;
  const double bottom = kSeriesTop + kSeriesHeight, right = kSeriesLeft + kSeriesWidth;
  for (int i = 0; i < kSeriesTicks; ++i) {
    const double share = static_cast<double>(i) / (kSeriesTicks - 1), y = bottom - kSeriesHeight * share;
    out += svg::line(kSeriesLeft, y, right, y, "grid") +
           svg::label(kSeriesLeft - 6, y + 4, three_digits(side.value(share)), "end");
  }
  const auto parts = static_cast<double>(std::max<std::size_t>(2, chart.x_labels.size()) - 1);
  for (std::size_t i = 0; i < chart.x_labels.size(); ++i) {
    const double x = kSeriesLeft + kSeriesWidth * static_cast<double>(i) / parts;
    out +=
        svg::line(x, kSeriesTop, x, bottom, "grid") + svg::label(x, bottom + 18, chart.x_labels[i], "middle");
  }
  const double middle = kSeriesTop + kSeriesHeight / 2;
  return out + svg::label(12, middle, beginning_of(chart.y, 60), "middle", svg::turned(12, middle, -90));
}

std::string band_of(const SeriesChart::Series& series, const SeriesSide& side) {
  std::string there, back;
  for (const SeriesChart::Column& column : series.columns) {
    const auto most = side.share(column.most);
    if (!most) continue;
    there += concat(series_x(column.x), ",", series_y(*most), " ");
    back = concat(series_x(column.x), ",", series_y(side.share(column.least).value_or(0)), " ", back);
  }
  return there + back;
}

std::string drawn_series(const SeriesChart::Series& series, const SeriesSide& side, std::string_view style) {
  std::string line, marks;
  for (const SeriesChart::Column& column : series.columns) {
    if (const auto share = side.share(column.line))
      line += concat(series_x(column.x), ",", series_y(*share), " ");
    if (column.has_odd)
      marks += concat("<circle cx=\"", series_x(column.x), "\" cy=\"", series_y(0), "\" r=\"3\">",
                      svg::tooltip(concat(beginning_of(series.name, kLegendBytes), ": NaN or infinite")),
                      "</circle>");
  }
  return concat("<g class=\"", style, "\">", svg::tooltip(beginning_of(series.name, 200)),
                "<polygon points=\"", band_of(series, side), "\"/><polyline points=\"", line, "\"/>", marks,
                "</g>");
}

struct DrawnChart {
  double width = 0;
  double height = 0;
  std::string content;
};

DrawnChart draw_series(const SeriesChart& chart) {
  const SeriesSide side(chart);
  std::string out = series_axes(chart, side);
  const double top = kSeriesTop + kSeriesHeight + kSeriesBelow;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const std::string style = concat("series c", i % kColours);
    out += drawn_series(chart.series[i], side, style);
    const double x = kSeriesLeft + kLegendColumn * static_cast<double>(i % 3);
    const double y = top + kLegendHeight * static_cast<double>(i / 3);
    out += concat("<g class=\"", style, "\"><rect x=\"", svg::at(x), "\" y=\"", svg::at(y + 4),
                  "\" width=\"12\" height=\"12\"/></g>",
                  svg::label(x + 18, y + 14, beginning_of(chart.series[i].name, kLegendBytes), "start"));
  }
  const auto rows = static_cast<double>((chart.series.size() + 2) / 3);
  return {kSeriesLeft + kSeriesWidth + kSeriesRight, top + kLegendHeight * rows + 8, std::move(out)};
}

}  // namespace

std::string html_series_chart(const SeriesChart& chart) {
  const DrawnChart drawn = draw_series(chart);
  return svg::picture(drawn.width, drawn.height, drawn.content);
}

std::string svg_series_chart(const SeriesChart& chart) {
  const DrawnChart drawn = draw_series(chart);
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"", svg::at(drawn.width),
                "\" height=\"", svg::at(drawn.height), "\" viewBox=\"0 0 ", svg::at(drawn.width), " ",
                svg::at(drawn.height), "\" font-family=\"sans-serif\"><style>", kPageStyle, "</style>",
                "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>", drawn.content, "</svg>\n");
}

}  // namespace headrace
