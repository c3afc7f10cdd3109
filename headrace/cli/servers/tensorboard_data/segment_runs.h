#pragma once

/// \file Runs that have metric segments, beside those of event files: docs/tensorboard.md, "Metric segments".

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

/// One thread at a time, the one that polls the log folder.
class SegmentRuns {
 public:
  /// `place` is that of the log folder.
  explicit SegmentRuns(const Location& place);

  /// An object that a poll of the log folder has seen.
  void listed(const ObjectInfo& object);
  /// After the poll: reads new segments for half a second, and adds their points to runs of `folder`. The
  /// outcome says whether anything was read, and whether there is more. \error as SegmentFollower::read
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
  std::map<std::string, std::int64_t> ends_;  // of logs: the first step that a later attempt supersedes
};

}  // namespace headrace
