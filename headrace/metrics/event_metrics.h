#pragma once

/// \file Scalars of event files as metrics of a run. docs/formats/run-record.md, "Metrics in event files".

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/events/log_folder.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {

struct EventMetricsOptions {
  /// Points after this time, in microseconds since 1970, are left out: they belong to another run that later
  /// wrote to the same folder.
  std::optional<std::int64_t> until_us{};
  /// Is called for damage, with a message that names the file; from any thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

/// The scalars of a folder of event files, one point for each step. Keeps all points in memory, 24 bytes
/// each. The const functions may be called together; `poll` and `read_all` must be called alone.
class EventMetrics {
 public:
  /// A folder with more points than this is refused.
  static constexpr std::uint64_t kMostPoints = 50'000'000;

  /// Reads nothing yet. `series` is the first part of the names of the metrics: "<series>/<tag>", or
  /// "<series>/<subfolder>/<tag>" for files in a subfolder.
  EventMetrics(std::string series, Location folder, EventMetricsOptions options);

  /// Lists the folder once, then reads new data for up to half a second, in pieces. A missing folder has no
  /// points.
  /// \error of the store: the next call continues; kResourceExhausted  there are more than kMostPoints points
  Result<PollOutcome> poll(const CallOptions& call);
  /// Polls until everything that was there is read. Returns whether anything new was read. \error as `poll`
  Result<bool> read_all(const CallOptions& call);

  /// Names of the metrics, sorted.
  std::vector<std::string> names() const;
  /// All points of a metric, sorted by step; empty if there is no such metric. If a writer repeated a step
  /// after a restart, the last value counts (docs/tensorboard.md, "Steps that go back").
  MetricSeries read(std::string_view name) const;

 private:
  std::string series_;
  std::unique_ptr<LogFolder> folder_;
  std::optional<std::int64_t> until_us_;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> places_;  // name → folder, tag
};

}  // namespace headrace
