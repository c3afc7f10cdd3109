#pragma once

/// \file Charts of many series as SVG: for each a line, and a band from the least to the greatest value.

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct SeriesChart {
  struct Label {
    double x = 0;  // from 0 to 1
    std::string text;
  };
  std::string_view y;           // what the y axis shows
  std::vector<Label> x_labels;  // below the chart
  bool is_log = false;          // the y axis; values at or below 0 are left out
  struct Column {
    double x = 0;  // from 0 to 1
    double least = 0;
    double most = 0;
    double line = 0;
    bool has_odd = false;  // has values that are not finite: shown as a mark at the bottom
  };
  struct Series {
    std::string name;             // in the legend
    std::vector<Column> columns;  // by rising x
  };
  std::vector<Series> series;
};

/// A chart in the colours of the page. There are eight colours, which repeat. Names are escaped and cut to a
/// readable length. Numbers that are not finite are left out.
std::string html_series_chart(const SeriesChart& chart);

/// The same chart as an SVG file that needs nothing else.
std::string svg_series_chart(const SeriesChart& chart);

}  // namespace headrace
