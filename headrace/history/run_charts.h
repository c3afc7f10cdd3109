#pragma once

/// \file Charts of metrics of several runs: which series, over which range, and how they are drawn.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/metrics/chart.h"
#include "headrace/page/series_chart.h"

namespace headrace {

inline constexpr std::size_t kMostChartedRuns = 20;

/// kRelative: microseconds since the first point of the run among the metrics that are shown.
enum class RunChartAxis { kStep, kTime, kRelative };

/// A run with its metrics, which have been read.
struct RunToChart {
  std::string id;
  RunMetrics metrics;
};

struct RunChartRequest {
  std::vector<std::string> metrics{};  // empty: all but those that begin with kSystemMetrics
  RunChartAxis axis = RunChartAxis::kStep;
  // Range of steps, with kStep only; an end that is not set is that of the points. REQUIRES: first <= last
  std::optional<std::int64_t> first{};
  std::optional<std::int64_t> last{};
  bool shares_range = false;  // all series have one range of x; else each metric has its own
  std::size_t columns = 860;  // 1 to kMostChartColumns
  int threads = 1;
  CallOptions call{};
};

/// One metric of one rank of a run.
struct ChartedSeries {
  std::string run;
  std::string metric;
  std::uint64_t rank = 0;
  std::size_t run_index = 0;
  std::int64_t origin = 0;  // the x that is shown as 0
  ChartRange range{};       // relative to the origin
  std::vector<ChartColumn> columns{};

  /// Where the columns lie.
  ChartColumns places() const { return {range.first, range.last, columns.size()}; }
};

/// The columns of all series of a request.
struct RunCharts {
  RunChartAxis axis = RunChartAxis::kStep;
  std::vector<ChartedSeries> series;  // by run, then metric, then rank

  std::vector<std::string> metric_names() const;
};

/// Reads the columns of the requested metrics. Reads as chart_ranges and chart_columns do.
/// \error kNotFound         no run has logged a metric that was named, or nothing was logged at all
/// \error kInvalidArgument  too many runs, series, or columns of all series: more than 20, 100, or 2,000,000
/// \error as chart_columns
Result<RunCharts> chart_runs(std::span<const RunToChart> runs, const RunChartRequest& request);

/// The last value of each column as a line, smoothed; NaN in columns without finite values.
/// \param weight  from 0 to below 1: weight of the earlier values in an exponential mean; 0: no smoothing
std::vector<double> smoothed_line(const std::vector<ChartColumn>& columns, double weight);

/// A place on the x axis for people: "1200", "2026-01-31T12:00:00.000Z" or "12.5 s".
std::string chart_x_text(RunChartAxis axis, std::int64_t x);

struct RunChartDrawing {
  double smooth = 0;  // weight for smoothed_line
  bool is_log = false;
};

/// The series of one metric as one chart; if `metric` is empty, the series of all metrics.
/// REQUIRES: the series share their range; `metric` outlives the chart
SeriesChart drawn_chart(const RunCharts& charts, std::string_view metric, const RunChartDrawing& drawing);

}  // namespace headrace
