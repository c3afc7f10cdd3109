#pragma once

/// \file Follows a folder of event files in any store, and answers queries about it: docs/tensorboard.md.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/hash.h"
#include "headrace/events/blob_key.h"
#include "headrace/events/log_layout.h"
#include "headrace/events/log_reader.h"
#include "headrace/events/run.h"
#include "headrace/store/location.h"

namespace headrace {

struct LogFolderOptions {
  /// Runs that are read at once; each takes LogReader::kPieceBytes while it is read.
  int load_threads = 8;
  /// Key for making blob keys; secret, and different for each process.
  HashKey blob_secret{};
  /// Reads scalars alone: no other series is kept or shown.
  bool only_scalars = false;
  /// How long a poll reads live runs, and then the others, before the folder has to be listed again; or four
  /// times as long as the listing took. Each thread reads at least one piece.
  std::chrono::milliseconds reading_time{500};
  /// Called by a poll with each object that is no event file.
  std::function<void(const ObjectInfo&)> other_object = [](const ObjectInfo&) {};
  /// Called for damage in event files, from any thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

/// Selects series. Without runs or tags: those of all.
struct SeriesQuery {
  std::string plugin;
  DataClass data_class = DataClass::kScalar;
  std::optional<std::set<std::string>> runs{};
  std::optional<std::set<std::string>> tags{};
};

struct PollOutcome {
  std::size_t event_files = 0;
  /// Runs of which something was read.
  std::size_t runs_read = 0;
  /// Something was read, or went.
  bool changed = false;
  /// There is more to read: it was time to look for what has come meanwhile.
  bool has_more = false;
};

/// `poll` may be called by one thread at a time; all other functions by any thread, also meanwhile.
class LogFolder {
 public:
  LogFolder(Location folder, LogFolderOptions options);

  /// Lists the folder and reads what is new: first live runs, that is those that had been read to their end.
  /// Runs are shown as soon as they are found, and grow piece by piece.
  /// \error of the store; the data read so far stay, and the next poll continues
  Result<PollOutcome> poll(const CallOptions& call);

  /// Shows a run that no poll reads; the caller adds to it.
  /// REQUIRES: no event file lies in a folder of that name
  std::shared_ptr<Run> add_run(const std::string& name);

  std::string describe() const { return folder_.describe(); }

  struct RunInfo {
    std::string name;
    std::optional<double> start_time_s;  // none until an event was read
  };
  /// By name.
  std::vector<RunInfo> runs() const;
  /// Names of all plugins that have a series.
  std::set<std::string> plugins() const;

  /// Calls `visit` by run and tag, ascending. The series does not change until it returns.
  using Visit =
      std::function<void(const std::string& run, const std::string& tag, const Series&, const LogTimes&)>;
  void for_each_series(const SeriesQuery& query, const Visit& visit) const;

  /// The key of a blob that a series has.
  std::string blob_key(const BlobSequence& sequence, const BlobReference& blob) const;
  /// \error kNotFound  no key of ours, or its bytes are not there any more; and those of the store
  Result<Bytes> read_blob(std::string_view key, const CallOptions& call) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct FollowedRun {
    std::shared_ptr<Run> run;
    std::map<std::string, std::unique_ptr<LogReader>> logs;
    bool was_current = false;  // after an earlier poll
  };

  Result<LogLayout> list(const CallOptions& call) const;
  bool forget_missing(const LogLayout& layout);
  struct Behind {
    std::vector<std::string> live, others;  // names
  };
  Behind runs_behind(const LogLayout& layout);
  Result<bool> read_runs(const std::vector<std::string>& names, const LogLayout& layout, Clock::duration time,
                         const CallOptions& call);
  Status read_run(const std::string& name, const LogLayout& layout, const CallOptions& call,
                  const std::function<bool()>& must_pause);
  std::map<std::string, std::shared_ptr<Run>> shown() const;

  const Location folder_;
  const LogFolderOptions options_;
  std::map<std::string, FollowedRun> followed_;  // of the thread that polls
  LogId next_log_ = 0;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Run>> shown_;
};

}  // namespace headrace
