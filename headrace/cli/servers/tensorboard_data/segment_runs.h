#pragma once

/// \file Shows runs with metric segments, besides those with event files. docs/tensorboard.md, "Metric
/// segments".

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "headrace/events/log_folder.h"
#include "headrace/metrics/follow.h"

namespace headrace {

/// Adds the points of metric segments to the runs of a log folder. Not thread-safe: call it in the thread
/// that polls the log folder.
class SegmentRuns {
 public:
  /// `place`: the location of the log folder.
  explicit SegmentRuns(const Location& place);

  /// Notes an object that a poll of the log folder has listed.
  void listed(const ObjectInfo& object);
  /// Call it after the poll. Reads new segments for half a second, and adds their points to runs of `folder`.
  /// The outcome says whether anything was read, and whether there is more. \error as SegmentFollower::read
  Result<PollOutcome> read(LogFolder& folder, const CallOptions& call);

 private:
  struct ShownLog {
    LogId id = 0;
    std::shared_ptr<Run> run;
  };
  ShownLog shown(LogFolder& folder, const std::string& log);
  void cut(const std::string& log);

  const std::string prefix_;
  SegmentFollower follower_;
  std::vector<ObjectInfo> listed_;
  std::mutex mutex_;  // several logs are read at once
  // Guarded by mutex_.
  std::map<std::string, ShownLog> logs_;
  std::map<std::string, std::int64_t> ends_;  // by log: the first step that a later attempt supersedes
};

}  // namespace headrace
