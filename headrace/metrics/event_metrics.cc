#include "headrace/metrics/event_metrics.h"

#include <cmath>

#include "headrace/base/text.h"

namespace headrace {

namespace {

constexpr std::string_view kScalars = "scalars";

// A time that is not a number, or is too far away, becomes 1970.
std::int64_t to_microseconds(double seconds) {
  constexpr double kFarthest = 9e12;
  return std::abs(seconds) < kFarthest ? static_cast<std::int64_t>(std::nearbyint(seconds * 1e6)) : 0;
}

}  // namespace

EventMetrics::EventMetrics(std::string series, Location folder, EventMetricsOptions options)
    : series_(std::move(series)),
      folder_(std::make_unique<LogFolder>(
          std::move(folder), LogFolderOptions{.only_scalars = true, .warn = std::move(options.warn)})),
      until_us_(options.until_us) {}

Result<PollOutcome> EventMetrics::poll(const CallOptions& call) {
  HEADRACE_TRY(const PollOutcome outcome, folder_->poll(call));
  std::uint64_t points = 0;
  places_.clear();
  folder_->for_each_series(
      {.plugin = std::string(kScalars)},
      [&](const std::string& run, const std::string& tag, const Series& series, const LogTimes&) {
        points += series.scalar_points();
        places_.emplace(concat(series_, "/", run == "." ? "" : run + "/", tag), std::pair(run, tag));
      });
  if (points > kMostPoints)
    return Error{Code::kResourceExhausted,
                 concat(folder_->describe(), " has more than ", kMostPoints,
                        " points, which are too many to show here; headrace tensorboard shows them")};
  return outcome;
}

Result<bool> EventMetrics::read_all(const CallOptions& call) {
  bool has_news = false;
  for (bool has_more = true; has_more;) {
    HEADRACE_TRY(const PollOutcome outcome, poll(call));
    has_more = outcome.has_more;
    has_news = has_news || outcome.changed;
  }
  return has_news;
}

std::vector<std::string> EventMetrics::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

MetricSeries EventMetrics::read(std::string_view name) const {
  MetricSeries out;
  const auto place = places_.find(name);
  if (place == places_.end()) return out;
  const auto& [run, tag] = place->second;
  folder_->for_each_series(
      {.plugin = std::string(kScalars), .runs = {{run}}, .tags = {{tag}}},
      [&](const std::string&, const std::string&, const Series& series, const LogTimes& begun) {
        ScalarColumns scratch;
        const ScalarView points = series.scalars(begun, scratch);
        for (std::size_t i = 0; i < points.steps.size(); ++i) {
          const std::int64_t time_us = to_microseconds(points.wall_times_s[i]);
          if (until_us_ && time_us > *until_us_) continue;
          out.steps.push_back(points.steps[i]);
          out.times_us.push_back(time_us);
          out.values.push_back(points.values[i]);
        }
      });
  return out;
}

}  // namespace headrace
