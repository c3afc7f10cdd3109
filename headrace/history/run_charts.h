#pragma once

/// \file Charts of metrics of several runs: which series, of which range, and how they are drawn.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/metrics/chart.h"
#include "headrace/page/series_chart.h"

namespace headrace {

inline constexpr std::size_t kMostChartedRuns = 20;

/// kRelative: microseconds since the first point of the run, in the metrics that are shown.
enum class RunChartAxis { kStep, kTime, kRelative };

/// A run whose metrics are read.
struct RunToChart {
  std::string id;
  RunMetrics metrics;
};

struct RunChartRequest {
  std::vector<std::string> metrics{};  // none: all but those of kSystemMetrics
  RunChartAxis axis = RunChartAxis::kStep;
  // Steps, with kStep alone; what is left out is that of the points. REQUIRES: first <= last
  std::optional<std::int64_t> first{};
  std::optional<std::int64_t> last{};
  bool shares_range = false;  // all series have one range of x; else those of each metric
  std::size_t columns = 860;  // 1 to kMostChartColumns
  int threads = 1;
  CallOptions call{};
};

/// A metric of a rank of a run.
struct ChartedSeries {
  std::string run;
  std::string metric;
  std::uint64_t rank = 0;
  std::size_t run_index = 0;
  std::int64_t origin = 0;  // of x
  ChartRange range{};       // from the origin
  std::vector<ChartColumn> columns{};

  /// Where the columns lie.
  ChartColumns places() const { return {range.first, range.last, columns.size()}; }
};

/// Charts of runs.
struct RunCharts {
  RunChartAxis axis = RunChartAxis::kStep;
  std::vector<ChartedSeries> series;  // by run, then metric, then rank

  std::vector<std::string> metric_names() const;
};

/// The columns of the metrics of these runs. Reads as chart_ranges and chart_columns do.
/// \error kNotFound         a metric that no run has logged; nothing was logged
///        kInvalidArgument  too many runs, series or columns: 20, 100, and 2,000,000 of all series
///        as chart_columns
Result<RunCharts> chart_runs(std::span<const RunToChart> runs, const RunChartRequest& request);

/// The last values of the columns as a line, NaN where there are none.
/// \param weight  0 to 1: that of the values before, in an exponential mean; 0: none
std::vector<double> smoothed_line(const std::vector<ChartColumn>& columns, double weight);

/// "1200", "2026-01-31T12:00:00.000Z" or "12.5 s".
std::string chart_x_text(RunChartAxis axis, std::int64_t x);

struct RunChartDrawing {
  double smooth = 0;  // of smoothed_line
  bool is_log = false;
};

/// The series of one metric, or of all of them if it is empty, as one chart.
/// REQUIRES: they share their range; `metric` outlives the chart
SeriesChart drawn_chart(const RunCharts& charts, std::string_view metric, const RunChartDrawing& drawing);

}  // namespace headrace
