#include "headrace/metrics/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "headrace/metrics/attempts.h"

namespace headrace {

namespace {

// Stands in place of the number of attempts, for metrics of event files.
constexpr int kOfEvents = 0;

void append_series(MetricSeries& to, const MetricSeries& from) {
  to.steps.insert(to.steps.end(), from.steps.begin(), from.steps.end());
  to.times_us.insert(to.times_us.end(), from.times_us.begin(), from.times_us.end());
  to.values.insert(to.values.end(), from.values.begin(), from.values.end());
}

// REQUIRES: steps ascend
void cut_from(MetricSeries& series, std::int64_t step) {
  const auto kept = static_cast<std::size_t>(
      std::lower_bound(series.steps.begin(), series.steps.end(), step) - series.steps.begin());
  series.steps.resize(kept);
  series.times_us.resize(kept);
  series.values.resize(kept);
}

void widen(MetricSummary& summary, std::optional<double> minimum, std::optional<double> maximum) {
  if (minimum) summary.minimum = std::min(summary.minimum.value_or(*minimum), *minimum);
  if (maximum) summary.maximum = std::max(summary.maximum.value_or(*maximum), *maximum);
}

void add_column(MetricSummary& summary, const SegmentAxis& axis, const SegmentColumn& column) {
  summary.points += axis.points;
  summary.last = column.last;
  summary.last_step = axis.last_step;
  widen(summary, column.minimum, column.maximum);
}

void summarize(const MetricSeries& series, MetricSummary& summary) {
  summary.points = series.values.size();
  for (const double value : series.values) {
    if (!std::isnan(value)) widen(summary, value, value);
  }
  if (series.values.empty()) return;
  summary.last = series.values.back();
  summary.last_step = series.steps.back();
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> RunMetrics::series() const {
  std::set<std::pair<std::string, std::uint64_t>> all;
  for (const PartLog& part : parts_) {
    for (std::string& name : part.log.names()) all.emplace(std::move(name), part.rank);
  }
  for (const PartEvents& part : events_) {
    for (std::string& name : part.events->names()) all.emplace(std::move(name), part.rank);
  }
  return {all.begin(), all.end()};
}

bool RunMetrics::are_ended() const {
  return std::ranges::all_of(parts_, [](const PartLog& part) { return part.log.is_ended(); });
}

Result<std::vector<MetricSummary>> RunMetrics::summaries() const {
  std::map<std::pair<std::string, std::uint64_t>, MetricSummary> all;
  std::map<std::pair<std::string, std::uint64_t>, int> attempts;
  for (const PartLog& part : parts_) {
    for (const std::string& name : part.log.names()) ++attempts[{name, part.rank}];
    for (const SegmentWithFooter& segment : part.log.segments()) {
      for (const SegmentColumn& column : segment.footer.columns) {
        MetricSummary& summary = all[{column.name, part.rank}];
        summary.name = column.name;
        summary.rank = part.rank;
        if (attempts[{column.name, part.rank}] == 1)
          add_column(summary, segment.footer.axes[column.axis], column);
      }
    }
  }
  for (const PartEvents& part : events_) {
    for (const std::string& name : part.events->names()) {
      if (all.try_emplace({name, part.rank}).second) attempts[{name, part.rank}] = kOfEvents;
    }
  }
  std::vector<MetricSummary> summaries;
  for (auto& [key, summary] : all) {
    if (attempts[key] != 1) {
      summary = {.name = key.first, .rank = key.second};
      HEADRACE_TRY(const MetricSeries series, read(key.first, key.second));
      if (series.values.empty()) continue;  // all points belong to another run
      summarize(series, summary);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Result<MetricSeries> RunMetrics::read(std::string_view name, std::uint64_t rank) const {
  HEADRACE_TRY(MetricSeries series, read_segments(name, rank));
  return series.values.empty() ? read_events(name, rank) : std::move(series);
}

// A later attempt counts from its first step on.
MetricSeries RunMetrics::read_events(std::string_view name, std::uint64_t rank) const {
  std::vector<MetricSeries> latest_first;
  LaterAttempts later;
  for (const PartEvents& part : events_) {
    if (part.rank != rank) continue;
    MetricSeries series = part.events->read(name);
    if (series.steps.empty()) continue;
    const std::int64_t first = series.steps.front();
    if (later.end()) cut_from(series, *later.end());
    latest_first.push_back(std::move(series));
    later.add(first);
  }
  MetricSeries joined;
  for (auto series = latest_first.rbegin(); series != latest_first.rend(); ++series)
    append_series(joined, *series);
  return joined;
}

Result<MetricSeries> RunMetrics::read_segments(std::string_view name, std::uint64_t rank) const {
  std::vector<MetricSeries> latest_first;
  LaterAttempts later;
  for (const PartLog& part : parts_) {
    if (part.rank != rank) continue;
    HEADRACE_TRY(latest_first.emplace_back(), part.log.read(name, {}, later.end()));
    later.add(part.log.from_step());
  }
  MetricSeries joined;
  for (auto series = latest_first.rbegin(); series != latest_first.rend(); ++series)
    append_series(joined, *series);
  return joined;
}

std::vector<SeriesColumn> RunMetrics::columns(std::string_view name, std::uint64_t rank) const {
  std::vector<std::vector<SeriesColumn>> latest_first;
  LaterAttempts later;
  for (const PartLog& part : parts_) {
    if (part.rank != rank) continue;
    std::vector<SeriesColumn>& columns = latest_first.emplace_back();
    for (const auto& [segment, column] : part.log.columns_of(name))
      columns.push_back({&part.log, segment, column, later.end()});
    later.add(part.log.from_step());
  }
  std::vector<SeriesColumn> joined;
  for (auto columns = latest_first.rbegin(); columns != latest_first.rend(); ++columns)
    joined.insert(joined.end(), columns->begin(), columns->end());
  return joined;
}

Result<RunMetrics> RunMetrics::refreshed() const {
  std::vector<PartLog> parts;
  for (const PartLog& part : parts_) {
    HEADRACE_TRY(MetricLog log, part.log.refreshed());
    parts.push_back({part.rank, std::move(log)});
  }
  return RunMetrics(std::move(parts), events_);
}

}  // namespace headrace
