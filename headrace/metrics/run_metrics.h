#pragma once

/// \file The metrics of a run: the logs and event files of its parts, joined.
/// docs/formats/metric-segments.md, "Attempts"; docs/formats/run-record.md, "Metrics in event files".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/metrics/event_metrics.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {

struct PartLog {
  std::uint64_t rank = 0;
  MetricLog log;
};

/// A folder of event files. REQUIRES: it was read
struct PartEvents {
  std::uint64_t rank = 0;
  std::shared_ptr<const EventMetrics> events;
};

struct MetricSummary {
  std::string name;
  std::uint64_t rank = 0;
  std::uint64_t points = 0;
  std::int64_t last_step = 0;
  double last = 0;
  // Extremes of the values that are numbers: none if there are none.
  std::optional<double> minimum{};
  std::optional<double> maximum{};
};

/// A column of a segment that holds points of a metric.
struct SeriesColumn {
  const MetricLog* log = nullptr;
  const SegmentWithFooter* segment = nullptr;
  const SegmentColumn* column = nullptr;
  std::optional<std::int64_t> end_step{};  // a later attempt counts from here on

  const SegmentAxis& axis() const { return segment->footer.axes[column->axis]; }
};

/// Thread-safe.
class RunMetrics {
 public:
  /// `latest_first`: of each rank, the latest attempt first.
  explicit RunMetrics(std::vector<PartLog> latest_first, std::vector<PartEvents> events_latest_first = {})
      : parts_(std::move(latest_first)), events_(std::move(events_latest_first)) {}

  /// Names of the metrics with their ranks, sorted. Reads nothing.
  std::vector<std::pair<std::string, std::uint64_t>> series() const;
  /// Whether no points will follow in segments: each log has its last segment. That of a run whose end could
  /// not wait for the store comes later, if ever.
  bool are_ended() const;
  /// By name, then rank. Reads points of segments only where several attempts have logged the metric.
  Result<std::vector<MetricSummary>> summaries() const;
  /// All points of a metric of a rank, those of earlier attempts first, without those that a later attempt
  /// has superseded. If segments and event files have a metric of one name, that of the segments counts.
  Result<MetricSeries> read(std::string_view name, std::uint64_t rank) const;
  /// The columns that `read` reads, in its order; none if the metric is in event files alone. They live as
  /// long as this.
  std::vector<SeriesColumn> columns(std::string_view name, std::uint64_t rank) const;
  /// The points of a metric in event files, as `read`.
  MetricSeries read_events(std::string_view name, std::uint64_t rank) const;
  /// The metrics of the same logs as they are now: a listing of each, and the footers of new segments. Event
  /// files are not read again. \error as MetricLog::refreshed
  Result<RunMetrics> refreshed() const;

 private:
  Result<MetricSeries> read_segments(std::string_view name, std::uint64_t rank) const;

  std::vector<PartLog> parts_;
  std::vector<PartEvents> events_;
};

}  // namespace headrace
