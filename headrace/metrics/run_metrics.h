#pragma once

/// \file The metrics of a run: the logs of its parts, joined. docs/formats/metric-segments.md, "Attempts".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/metrics/metric_log.h"

namespace headrace {

struct PartLog {
  std::uint64_t rank = 0;
  MetricLog log;
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

/// Thread-safe.
class RunMetrics {
 public:
  /// `latest_first`: of each rank, the latest attempt first.
  explicit RunMetrics(std::vector<PartLog> latest_first) : parts_(std::move(latest_first)) {}

  /// By name, then rank. Reads points only of metrics that several attempts have logged.
  Result<std::vector<MetricSummary>> summaries() const;
  /// All points of a metric of a rank, those of earlier attempts first, without those that a later attempt
  /// has superseded.
  Result<MetricSeries> read(std::string_view name, std::uint64_t rank) const;

 private:
  std::vector<PartLog> parts_;
};

}  // namespace headrace
