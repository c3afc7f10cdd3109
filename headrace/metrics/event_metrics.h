#pragma once

/// \file Scalars of event files as metrics of a run: docs/formats/run-record.md, "Metrics in event files".

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
  /// Points after this time, in microseconds since 1970, are left out: they are of another run, which went on
  /// in the same folder.
  std::optional<std::int64_t> until_us{};
  /// Told of damage, by a message that names the file; from any thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

/// The scalars of a folder of event files, one point for each step. Each point takes 24 bytes while this
/// lives. `poll` may be called by one thread at a time; the other functions not meanwhile.
class EventMetrics {
 public:
  /// A folder with more points is refused.
  static constexpr std::uint64_t kMostPoints = 50'000'000;

  /// `series` begins the names of the metrics: "<series>/<tag>", or "<series>/<folder>/<tag>" for files in a
  /// folder below.
  EventMetrics(std::string series, Location folder, EventMetricsOptions options);

  /// One listing; then reads for half a second what is new, in pieces. A folder that is not there has no
  /// points.
  /// \error of the store: the next call goes on; kResourceExhausted  there are more points than kMostPoints
  Result<PollOutcome> poll(const CallOptions& call);
  /// Polls until everything is read that was there. Returns whether anything was. \error as `poll`
  Result<bool> read_all(const CallOptions& call);

  /// Names of the metrics, sorted.
  std::vector<std::string> names() const;
  /// All points of a metric, by step; none if there is no such metric. A point that a writer has repeated
  /// after a restart counts once, with its last value (docs/tensorboard.md, "Steps that go back").
  MetricSeries read(std::string_view name) const;

 private:
  std::string series_;
  std::unique_ptr<LogFolder> folder_;
  std::optional<std::int64_t> until_us_;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> places_;  // name → folder, tag
};

}  // namespace headrace
