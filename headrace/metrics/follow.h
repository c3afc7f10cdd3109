#pragma once

/// \file Points of a run as they come, from segments and from event files.

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

/// Follows logs of parts, which lie in one folder. Points that a later attempt of their rank supersedes are
/// left out once its first segment is read (docs/formats/metric-segments.md, "Attempts"). One thread at a
/// time.
class SegmentFollower {
 public:
  /// Gets the points of a segment, in the order of the log's segments; called by several threads at once, for
  /// different logs. `log` is the log's path below the folder: its part, or "<run>/<part>".
  using Sink = std::function<void(const std::string& log, std::vector<NewPoint> points)>;
  /// Is told that a later attempt supersedes the points of a log at this step or later: those that the sink
  /// has got, or is getting at this moment in another thread, do not count. No others will come.
  using OnSuperseded = std::function<void(const std::string& log, std::int64_t step)>;

  /// `folder` has the logs, each named by its part. `first_points`: how many of the points before the first
  /// poll are wanted of a log; it reads whole segments, so there may be more.
  SegmentFollower(Location folder, std::uint64_t first_points)
      : folder_(std::move(folder)), first_points_(first_points) {}

  /// Follows all logs that are in the folder, from their first segment on.
  explicit SegmentFollower(Location folder, OnSuperseded on_superseded = {})
      : folder_(std::move(folder)), on_superseded_(std::move(on_superseded)) {}

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
