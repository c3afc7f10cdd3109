#pragma once

/// \file The metrics of a run, joined from the logs and event files of its parts.
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

/// The metric log of one part of a run.
struct PartLog {
  std::uint64_t rank = 0;
  MetricLog log;
};

/// A folder of event files of one part. REQUIRES: `events` was read by EventMetrics::read_all
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
  // Extremes of the values that are not NaN; none if all are NaN.
  std::optional<double> minimum{};
  std::optional<double> maximum{};
};

/// A column of a segment that holds points of a metric.
struct SeriesColumn {
  const MetricLog* log = nullptr;
  const SegmentWithFooter* segment = nullptr;
  const SegmentColumn* column = nullptr;
  std::optional<std::int64_t> end_step{};  // a later attempt supersedes points from this step on

  const SegmentAxis& axis() const { return segment->footer.axes[column->axis]; }
};

/// The metrics of all parts of a run. Thread-safe.
class RunMetrics {
 public:
  /// In both arguments, the parts of each rank are sorted by attempt, the latest first.
  explicit RunMetrics(std::vector<PartLog> latest_first, std::vector<PartEvents> events_latest_first = {})
      : parts_(std::move(latest_first)), events_(std::move(events_latest_first)) {}

  /// Names of the metrics with their ranks, sorted. Reads nothing.
  std::vector<std::pair<std::string, std::uint64_t>> series() const;
  /// Whether each log has its last segment, so that no points will follow in segments. If a run ended without
  /// waiting for the store, its last segment comes later, or never.
  bool are_ended() const;
  /// Summaries of all metrics, sorted by name, then rank. Reads points of segments only for metrics that
  /// several attempts have logged. \error as `read`
  Result<std::vector<MetricSummary>> summaries() const;
  /// All points of a metric of one rank, those of earlier attempts first, without points that a later attempt
  /// has superseded. If a metric is in segments and in event files, only its points in segments count.
  /// \error as MetricLog::read
  Result<MetricSeries> read(std::string_view name, std::uint64_t rank) const;
  /// The columns that `read` reads, in its order; empty if only event files have the metric. The pointers are
  /// valid as long as this RunMetrics.
  std::vector<SeriesColumn> columns(std::string_view name, std::uint64_t rank) const;
  /// The points of a metric in event files, joined as `read` does.
  MetricSeries read_events(std::string_view name, std::uint64_t rank) const;
  /// The metrics of the same logs as they are now: lists each log, and reads the footers of new segments.
  /// Event files are not read again. \error as MetricLog::refreshed
  Result<RunMetrics> refreshed() const;

 private:
  Result<MetricSeries> read_segments(std::string_view name, std::uint64_t rank) const;

  std::vector<PartLog> parts_;
  std::vector<PartEvents> events_;
};

}  // namespace headrace
