#include "headrace/history/run_charts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/page/html.h"

namespace headrace {
namespace {

constexpr std::size_t kMostChartedSeries = 100;
constexpr std::size_t kMostChartedColumns = 2'000'000;  // in all series together
constexpr std::size_t kMostLabels = 5;
constexpr std::int64_t kMostTimeUs = std::numeric_limits<std::int64_t>::max() / 1000;  // until the year 2262

Result<std::vector<ChartedSeries>> chosen_series(std::span<const RunToChart> runs,
                                                 const std::vector<std::string>& wanted) {
  if (runs.size() > kMostChartedRuns)
    return Error{Code::kInvalidArgument, concat("at most ", kMostChartedRuns, " runs can be shown")};
  std::vector<ChartedSeries> chosen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [name, rank] : runs[i].metrics.series()) {
      const bool is_wanted = wanted.empty() ? !name.starts_with(kSystemMetrics)
                                            : std::ranges::find(wanted, name) != wanted.end();
      if (is_wanted) chosen.push_back({.run = runs[i].id, .metric = name, .rank = rank, .run_index = i});
    }
  }
  for (const std::string& name : wanted) {
    if (std::ranges::find(chosen, name, &ChartedSeries::metric) == chosen.end())
      return Error{Code::kNotFound,
                   concat("no metric ", name, " was logged; headrace runs metrics lists the metrics")};
  }
  if (chosen.empty()) return Error{Code::kNotFound, "the runs have logged no metrics"};
  return chosen;
}

Status check_size(std::size_t series, std::size_t columns) {
  if (series > kMostChartedSeries)
    return Error{Code::kInvalidArgument, concat(series, " series, more than the ", kMostChartedSeries,
                                                " that can be shown; name some metrics")};
  if (series * columns <= kMostChartedColumns) return {};
  return Error{Code::kInvalidArgument,
               concat(series, " series of ", columns, " columns are more than the ", kMostChartedColumns,
                      " columns that can be shown; ask for fewer columns, or name metrics")};
}

/// Reads the charts of a request.
class RunChartReader {
 public:
  RunChartReader(std::span<const RunToChart> runs, const RunChartRequest& request)
      : runs_(runs),
        request_(request),
        options_{.axis = request.axis == RunChartAxis::kStep ? ChartAxis::kStep : ChartAxis::kTime,
                 .columns = request.columns,
                 .threads = request.threads,
                 .call = request.call} {}

  Result<RunCharts> read() {
    HEADRACE_TRY(charted_, chosen_series(runs_, request_.metrics));
    HEADRACE_CHECK(check_size(charted_.size(), request_.columns));
    HEADRACE_CHECK(find_own_ranges());
    share_ranges();
    HEADRACE_CHECK(read_columns());
    return RunCharts{request_.axis, std::move(charted_)};
  }

 private:
  // Gives each series the range of its own points, and its origin. Leaves out a series without points. Limits
  // times to those that have a date, so that their differences do not overflow.
  Status find_own_ranges() {
    std::vector<ChartSeries> series;
    for (const ChartedSeries& each : charted_)
      series.push_back({&runs_[each.run_index].metrics, each.metric, each.rank, {}});
    HEADRACE_TRY(const auto ranges, chart_ranges(series, options_));
    std::vector<std::int64_t> origins(runs_.size(), std::numeric_limits<std::int64_t>::max());
    std::vector<ChartedSeries> found;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!ranges[i]) continue;  // a later attempt has superseded all points
      ChartedSeries& each = found.emplace_back(std::move(charted_[i]));
      each.range = *ranges[i];
      if (request_.axis == RunChartAxis::kStep) continue;
      each.range = {std::clamp(each.range.first, -kMostTimeUs, kMostTimeUs),
                    std::clamp(each.range.last, -kMostTimeUs, kMostTimeUs)};
      std::int64_t& origin = origins[each.run_index];
      origin = std::min(origin, each.range.first);
    }
    charted_ = std::move(found);
    if (charted_.empty()) return Error{Code::kNotFound, "the runs have logged no points"};
    if (request_.axis != RunChartAxis::kRelative) return {};
    for (ChartedSeries& each : charted_) {
      each.origin = origins[each.run_index];
      each.range = {each.range.first - each.origin, each.range.last - each.origin};
    }
    return {};
  }

  // If the requested steps hold no points, the range is a single step, and nothing is drawn.
  ChartRange chosen_steps(ChartRange all) const {
    if (request_.first) return {*request_.first, std::max(*request_.first, request_.last.value_or(all.last))};
    const std::int64_t last = request_.last.value_or(all.last);
    return {std::min(all.first, last), last};
  }

  // Gives all series of a chart the range that holds all of them.
  void share_ranges() {
    const auto chart_of = [&](const ChartedSeries& each) { return request_.shares_range ? "" : each.metric; };
    std::map<std::string, ChartRange> charts;
    for (const ChartedSeries& each : charted_) {
      ChartRange& all = charts.try_emplace(chart_of(each), each.range).first->second;
      all = {std::min(all.first, each.range.first), std::max(all.last, each.range.last)};
    }
    for (ChartedSeries& each : charted_) each.range = chosen_steps(charts.at(chart_of(each)));
  }

  Status read_columns() {
    std::vector<ChartSeries> series;
    for (const ChartedSeries& each : charted_)
      series.push_back({&runs_[each.run_index].metrics,
                        each.metric,
                        each.rank,
                        {each.range.first + each.origin, each.range.last + each.origin}});
    HEADRACE_TRY(auto columns, chart_columns(series, options_));
    for (std::size_t i = 0; i < series.size(); ++i) charted_[i].columns = std::move(columns[i]);
    return {};
  }

  std::span<const RunToChart> runs_;
  const RunChartRequest& request_;
  ChartOptions options_;
  std::vector<ChartedSeries> charted_;
};

std::string name_in_legend(const ChartedSeries& each, bool with_metric) {
  return concat(each.run, with_metric ? " " + each.metric : "",
                each.rank == 0 ? "" : concat(" (rank ", each.rank, ")"));
}

// Returns where x lies in a range, from 0 at its beginning to 1 at its end.
double place_in(ChartRange range, double from_first) {
  const auto length =
      static_cast<double>(static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first));
  return length == 0 ? 0.5 : from_first / length;
}

SeriesChart::Series drawn_series(const ChartedSeries& each, double weight, bool with_metric) {
  SeriesChart::Series out{.name = name_in_legend(each, with_metric)};
  const std::vector<double> line = smoothed_line(each.columns, weight);
  const ChartColumns places = each.places();
  const auto from_first = [&](std::int64_t x) {
    return static_cast<double>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(each.range.first));
  };
  for (std::size_t i = 0; i < each.columns.size(); ++i) {
    const ChartColumn& column = each.columns[i];
    if (column.finite + column.not_finite == 0) continue;
    const std::int64_t last = i + 1 == each.columns.size() ? each.range.last : places.begin(i + 1) - 1;
    const double centre = from_first(places.begin(i)) / 2 + from_first(last) / 2;
    out.columns.push_back({.x = place_in(each.range, centre),
                           .least = column.minimum,
                           .most = column.maximum,
                           .line = line[i],
                           .has_odd = column.not_finite > 0});
  }
  return out;
}

// Places each label exactly at its number. No two labels have the same number.
std::vector<SeriesChart::Label> x_labels(RunChartAxis axis, ChartRange range) {
  const auto length = static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
  const std::uint64_t parts = std::min<std::uint64_t>(length, kMostLabels - 1);
  std::vector<SeriesChart::Label> labels;
  for (std::uint64_t i = 0; i <= parts; ++i) {
    const std::uint64_t from_first =
        parts == 0 ? 0 : length / parts * i + length % parts * i / parts;  // no product is too large
    const auto x = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.first) + from_first);
    labels.push_back({place_in(range, static_cast<double>(from_first)), chart_x_text(axis, x)});
  }
  return labels;
}

}  // namespace

std::vector<std::string> RunCharts::metric_names() const {
  std::set<std::string> names;
  for (const ChartedSeries& each : series) names.insert(each.metric);
  return {names.begin(), names.end()};
}

Result<RunCharts> chart_runs(std::span<const RunToChart> runs, const RunChartRequest& request) {
  return RunChartReader(runs, request).read();
}

// Corrects the bias towards 0 that a moving average has at the beginning.
std::vector<double> smoothed_line(const std::vector<ChartColumn>& columns, double weight) {
  std::vector<double> line;
  double mean = 0, all = 0;
  for (const ChartColumn& column : columns) {
    if (column.finite > 0) {
      mean = weight * mean + (1 - weight) * column.last;
      all = weight * all + (1 - weight);
    }
    line.push_back(column.finite > 0 ? mean / all : NAN);
  }
  return line;
}

std::string chart_x_text(RunChartAxis axis, std::int64_t x) {
  if (axis == RunChartAxis::kStep) return concat(x);
  if (axis == RunChartAxis::kRelative) return concat(three_digits(static_cast<double>(x) / 1e6), " s");
  return format_time_ms(std::chrono::system_clock::time_point(std::chrono::microseconds(x)));
}

SeriesChart drawn_chart(const RunCharts& charts, std::string_view metric, const RunChartDrawing& drawing) {
  SeriesChart out{.y = metric, .is_log = drawing.is_log};
  for (const ChartedSeries& each : charts.series) {
    if (!metric.empty() && each.metric != metric) continue;
    if (out.series.empty()) out.x_labels = x_labels(charts.axis, each.range);
    out.series.push_back(drawn_series(each, drawing.smooth, metric.empty()));
  }
  return out;
}

}  // namespace headrace
