#pragma once

/// \file Points of a run as they come, from segments and from event files.

#include <cstdint>
#include <functional>
#include <map>
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

/// Follows logs of parts, which lie in one folder. One thread at a time.
class SegmentFollower {
 public:
  /// Gets the points of a segment, in the order of the log's segments; called by several threads at once, for
  /// different logs. `log` is the log's path below the folder: its part, or "<run>/<part>".
  using Sink = std::function<void(const std::string& log, std::vector<NewPoint> points)>;

  /// `folder` has the logs, each named by its part. `first_points`: how many of the points before the first
  /// poll are wanted of a log; it reads whole segments, so there may be more.
  SegmentFollower(Location folder, std::uint64_t first_points)
      : folder_(std::move(folder)), first_points_(first_points) {}

  /// Follows all logs that are in the folder, from their first segment on.
  explicit SegmentFollower(Location folder) : folder_(std::move(folder)) {}

  /// Follows the log of this part, too; one that is known stays.
  void add_log(const std::string& part, std::uint64_t rank);

  /// One listing, and one read for each new segment of up to 8 MiB. Appends what has come since the last
  /// poll. If others compact the log meanwhile, points with equal times may be left out.
  /// \error of the store; kDataLoss  a segment is damaged or missing. The next poll goes on.
  Status poll(const CallOptions& call, std::vector<NewPoint>& points);

  /// Reads what is new in objects that a listing of the folder has shown, eight logs at a time; passes others
  /// over. Asks `must_pause` after each segment; the next call goes on.
  /// \error as `poll`, the first one; logs without an error are read
  Status read(const std::vector<ObjectInfo>& listed, const CallOptions& call, const Sink& sink,
              const std::function<bool()>& must_pause);

 private:
  struct FollowedLog {
    std::uint64_t rank = 0;
    std::optional<std::uint64_t> next{};  // number of the segment to read next; none before the first poll
    std::optional<std::int64_t> newest_us{};
  };

  using Emit = std::function<void(std::vector<NewPoint>)>;  // of one log

  Status read_recent(FollowedLog& log, std::vector<StoredSegment> stored, const CallOptions& call,
                     const Emit& emit);
  Status read_new(FollowedLog& log, const std::vector<StoredSegment>& stored, const CallOptions& call,
                  const Emit& emit, const std::function<bool()>& must_pause);
  Result<std::uint64_t> read_segment(FollowedLog& log, const StoredSegment& segment, const CallOptions& call,
                                     std::vector<NewPoint>& points);

  Location folder_;
  std::optional<std::uint64_t> first_points_{};  // none: all points of all logs
  std::map<std::string, FollowedLog, std::less<>> logs_;
};

/// Follows a folder of event files. One thread at a time.
class EventFollower {
 public:
  EventFollower(std::uint64_t rank, EventMetrics events) : rank_(rank), events_(std::move(events)) {}

  /// One listing, and the reading of what is new. Appends the points that were written after those of the
  /// last poll. \error as EventMetrics::poll
  Status poll(const CallOptions& call, std::vector<NewPoint>& points);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // time, step

  std::uint64_t rank_;
  EventMetrics events_;
  std::map<std::string, Place> newest_;  // by metric
};

}  // namespace headrace
