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
  /// Number of runs that are read at once. Each takes LogReader::kPieceBytes of memory while it is read.
  int load_threads = 8;
  /// The secret from which blob keys are made; a different one for each process.
  HashKey blob_secret{};
  /// Read scalars only: no other series is kept or shown.
  bool only_scalars = false;
  /// A poll reads live runs for this long, and then the others for this long, before it returns so that the
  /// folder can be listed again; or for four times as long as the listing took, if that is longer. Each
  /// thread reads at least one piece.
  std::chrono::milliseconds reading_time{500};
  /// Called by a poll for each object that is not an event file.
  std::function<void(const ObjectInfo&)> other_object = [](const ObjectInfo&) {};
  /// Called for damage in event files, from any thread, with a message that names the file.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

/// Selects series. If `runs` or `tags` is not set, those of all runs or tags.
struct SeriesQuery {
  std::string plugin;
  DataClass data_class = DataClass::kScalar;
  std::optional<std::set<std::string>> runs{};
  std::optional<std::set<std::string>> tags{};
};

struct PollOutcome {
  std::size_t event_files = 0;
  /// Number of runs that had something new to read.
  std::size_t runs_read = 0;
  /// Something was read, or a log or run has disappeared.
  bool changed = false;
  /// There is more to read: the poll stopped at `reading_time`, so that new data can be found.
  bool has_more = false;
};

/// One thread at a time may call `poll`. Any thread may call the other functions, also during a poll.
class LogFolder {
 public:
  LogFolder(Location folder, LogFolderOptions options);

  /// Lists the folder and reads what is new. Live runs come first: those that an earlier poll has read to
  /// their end. A run is shown as soon as it is found, and grows piece by piece.
  /// \error of the store; the data read so far are kept, and the next poll continues
  Result<PollOutcome> poll(const CallOptions& call);

  /// Adds a run that no poll reads; the caller adds its points. If the run is there, returns it.
  /// REQUIRES: no event file lies in a folder of that name
  std::shared_ptr<Run> add_run(const std::string& name);

  std::string describe() const { return folder_.describe(); }

  struct RunInfo {
    std::string name;
    std::optional<double> start_time_s;  // seconds since 1970; none until an event was read
  };
  /// The runs found so far, by name.
  std::vector<RunInfo> runs() const;
  /// Names of all plugins that have a series, and of those whose values could not be read.
  std::set<std::string> plugins() const;

  /// Calls `visit` for each selected series, by ascending run and tag. No series of that run changes until
  /// `visit` returns.
  using Visit =
      std::function<void(const std::string& run, const std::string& tag, const Series&, const LogTimes&)>;
  void for_each_series(const SeriesQuery& query, const Visit& visit) const;

  /// The key of a blob of a series of this folder.
  std::string blob_key(const BlobSequence& sequence, const BlobReference& blob) const;
  /// Reads a blob and compares it with its checksum.
  /// \error kNotFound  the key was not made by this process, or the blob's bytes are gone or have changed
  /// \error of the store
  Result<Bytes> read_blob(std::string_view key, const CallOptions& call) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct FollowedRun {
    std::shared_ptr<Run> run;
    std::map<std::string, std::unique_ptr<LogReader>> logs;
    bool was_current = false;  // an earlier poll has read it to its end
  };

  Result<LogLayout> list(const CallOptions& call) const;
  bool forget_missing(const LogLayout& layout);
  struct Behind {
    std::vector<std::string> live, others;  // names of runs
  };
  Behind runs_behind(const LogLayout& layout);
  Result<bool> read_runs(const std::vector<std::string>& names, const LogLayout& layout, Clock::duration time,
                         const CallOptions& call);
  Status read_run(const std::string& name, const LogLayout& layout, const CallOptions& call,
                  const std::function<bool()>& must_pause);
  std::map<std::string, std::shared_ptr<Run>> shown() const;

  const Location folder_;
  const LogFolderOptions options_;
  std::map<std::string, FollowedRun> followed_;  // only for the thread that polls
  LogId next_log_ = 0;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Run>> shown_;
};

}  // namespace headrace
