#include "headrace/page/series_chart.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/page/page_style.h"
#include "headrace/page/svg.h"
#include "headrace/page/value_scale.h"

namespace headrace {
namespace {

constexpr double kSeriesWidth = 860, kSeriesHeight = 320, kSeriesLeft = 84, kSeriesTop = 12;
constexpr double kSeriesRight = 24, kSeriesBelow = 28, kLegendHeight = 20, kLegendColumn = 286;
constexpr std::size_t kLegendBytes = 36;
constexpr int kSeriesTicks = 5;
constexpr std::size_t kColours = 8;

ValueScale scale_of(const SeriesChart& chart) {
  ValueScale scale(chart.is_log);
  for (const SeriesChart::Series& series : chart.series) {
    for (const SeriesChart::Column& column : series.columns) {
      for (const double value : {column.least, column.most, column.line}) scale.include(value);
    }
  }
  scale.widen_if_flat();
  return scale;
}

std::string series_x(double share) {
  return svg::at(kSeriesLeft + kSeriesWidth * std::clamp(share, 0.0, 1.0));
}
std::string series_y(double share) { return svg::at(kSeriesTop + kSeriesHeight * (1 - share)); }

std::string series_axes(const SeriesChart& chart, const ValueScale& scale) {
  std::string out;
  const double bottom = kSeriesTop + kSeriesHeight, right = kSeriesLeft + kSeriesWidth;
  for (int i = 0; i < kSeriesTicks; ++i) {
    const double share = static_cast<double>(i) / (kSeriesTicks - 1), y = bottom - kSeriesHeight * share;
    out += svg::line(kSeriesLeft, y, right, y, "grid") +
           svg::label(kSeriesLeft - 6, y + 4, three_digits(scale.value(share)), "end");
  }
  for (const SeriesChart::Label& label : chart.x_labels) {
    const double x = kSeriesLeft + kSeriesWidth * label.x;
    out += svg::line(x, kSeriesTop, x, bottom, "grid") + svg::label(x, bottom + 18, label.text, "middle");
  }
  const double middle = kSeriesTop + kSeriesHeight / 2;
  return out + svg::label(12, middle, beginning_of(chart.y, 60), "middle", svg::turned(12, middle, -90));
}

std::string band_of(const SeriesChart::Series& series, const ValueScale& scale) {
  std::string out;
  for (const SeriesChart::Column& column : series.columns) {
    if (scale.shows(column.most))
      out += concat(series_x(column.x), ",", series_y(scale.share(column.most)), " ");
  }
  for (auto column = series.columns.rbegin(); column != series.columns.rend(); ++column) {
    if (!scale.shows(column->most)) continue;
    const double least = scale.shows(column->least) ? scale.share(column->least) : 0;
    out += concat(series_x(column->x), ",", series_y(least), " ");
  }
  return out;
}

std::string drawn_series(const SeriesChart::Series& series, const ValueScale& scale, std::string_view style) {
  std::string line, marks;
  for (const SeriesChart::Column& column : series.columns) {
    if (scale.shows(column.line))
      line += concat(series_x(column.x), ",", series_y(scale.share(column.line)), " ");
    if (column.has_odd)
      marks += concat("<circle cx=\"", series_x(column.x), "\" cy=\"", series_y(0), "\" r=\"3\">",
                      svg::tooltip(concat(beginning_of(series.name, kLegendBytes), ": NaN or infinite")),
                      "</circle>");
  }
  return concat("<g class=\"", style, "\">", svg::tooltip(beginning_of(series.name, 200)),
                "<polygon points=\"", band_of(series, scale), "\"/><polyline points=\"", line, "\"/>", marks,
                "</g>");
}

struct DrawnChart {
  double width = 0;
  double height = 0;
  std::string content;
};

DrawnChart draw_series(const SeriesChart& chart) {
  const ValueScale scale = scale_of(chart);
  std::string out = series_axes(chart, scale);
  const double top = kSeriesTop + kSeriesHeight + kSeriesBelow;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const std::string style = concat("series c", i % kColours);
    out += drawn_series(chart.series[i], scale, style);
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
