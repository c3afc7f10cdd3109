#pragma once

/// \file Follows a run: delivers its points as they arrive in segments and event files.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/metrics/event_metrics.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {

struct NewPoint {
  std::string metric;
  std::uint64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t time_us = 0;  // since 1970
  double value = 0;
};

/// Follows the metric logs in one folder. Once the first segment of a later attempt is read, the points that
/// it supersedes in earlier attempts of its rank are left out (docs/formats/metric-segments.md, "Attempts").
/// Not thread-safe.
class SegmentFollower {
 public:
  /// Receives the points of one segment. The segments of a log arrive in order. Several threads may call it
  /// at once, for different logs. `log` is the log's path below the folder: its part, or "<run>/<part>".
  using Sink = std::function<void(const std::string& log, std::vector<NewPoint> points)>;
  /// Is called when a later attempt supersedes the points of a log from `step` on. Such points, if the sink
  /// has already received them or is receiving them in another thread, no longer count. No more of them will
  /// come.
  using OnSuperseded = std::function<void(const std::string& log, std::int64_t step)>;

  /// Follows only the logs added by `add_log`, each of which is named by its part. The first poll returns the
  /// latest segments of each log, until one of its metrics has at least `first_points` points.
  SegmentFollower(Location folder, std::uint64_t first_points)
      : folder_(std::move(folder)), first_points_(first_points) {}

  /// Follows all logs in the folder, from their first segment on.
  explicit SegmentFollower(Location folder, OnSuperseded on_superseded = {})
      : folder_(std::move(folder)), on_superseded_(std::move(on_superseded)) {}

  /// Also follows the log of this part. Does nothing if it is followed already.
  void add_log(const std::string& part, std::uint64_t rank);

  /// Lists the folder once, and reads each new segment: by one request if it has up to 8 MiB. Appends the
  /// points that came since the last poll. If others compact the log meanwhile, a new point may be left out
  /// if its time is not later than all points before.
  /// \error of the store; kDataLoss  a segment is damaged or missing. The next poll continues.
  Status poll(const CallOptions& call, std::vector<NewPoint>& points);

  /// Reads new segments among `listed`, the objects that a listing of the folder has shown; ignores other
  /// objects. Reads eight logs at a time. Calls `must_pause` before each segment, from several threads, and
  /// stops if it returns true; the next call continues.
  /// \error as `poll`, the first one; logs without an error are read
  Status read(const std::vector<ObjectInfo>& listed, const CallOptions& call, const Sink& sink,
              const std::function<bool()>& must_pause);

 private:
  struct FollowedLog {
    std::uint64_t rank = 0;
    std::optional<std::uint64_t> next{};  // segment to read next; none before the first poll
    std::optional<std::int64_t> newest_us{};
    // Guarded by attempts_mutex_.
    std::optional<std::int64_t> from_step{};
    std::optional<std::int64_t> end{};  // the first step that a later attempt supersedes
  };

  struct Reading {  // of one log
    const std::string& name;
    FollowedLog& log;
    const CallOptions& call;
    std::function<void(std::vector<NewPoint>)> emit;
  };

  Status read_recent(const Reading& reading, std::vector<StoredSegment> stored);
  Status read_new(const Reading& reading, const std::vector<StoredSegment>& stored,
                  const std::function<bool()>& must_pause);
  void add(const std::string& name, FollowedLog log);
  std::optional<std::int64_t> note_attempt(const std::string& name, FollowedLog& log,
                                           std::optional<std::int64_t> from_step);
  void update_ends(std::string_view name);
  Result<std::uint64_t> read_segment(const Reading& reading, const StoredSegment& segment,
                                     std::vector<NewPoint>& points);

  Location folder_;
  std::optional<std::uint64_t> first_points_{};  // none: all points of all logs
  OnSuperseded on_superseded_;
  std::map<std::string, FollowedLog, std::less<>> logs_;  // of each rank, the latest attempt first
  std::mutex attempts_mutex_;
};

/// Follows a folder of event files. Not thread-safe.
class EventFollower {
 public:
  EventFollower(std::uint64_t rank, EventMetrics events) : rank_(rank), events_(std::move(events)) {}

  /// Lists the folder once and reads what is new. Appends the points whose time and step are after those of
  /// all points of the same metric from earlier polls. \error as EventMetrics::poll
  Status poll(const CallOptions& call, std::vector<NewPoint>& points);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // time, step

  std::uint64_t rank_;
  EventMetrics events_;
  std::map<std::string, Place> newest_;  // by metric
};

}  // namespace headrace
