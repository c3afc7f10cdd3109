#include "headrace/events/log_folder.h"

#include <algorithm>
#include <atomic>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {

LogFolder::LogFolder(Location folder, LogFolderOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

Result<LogLayout> LogFolder::list(const CallOptions& call) const {
  const std::string prefix = folder_prefix(folder_.key);
  std::vector<ObjectInfo> files;
  HEADRACE_CHECK(folder_.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (is_event_file(object.key)) {
      files.push_back(object);
    } else {
      options_.other_object(object);
    }
    return true;
  }));
  return lay_out_logs(prefix, files);
}

bool LogFolder::forget_missing(const LogLayout& layout) {
  bool changed = false;
  for (auto run = followed_.begin(); run != followed_.end();) {
    const auto listed = layout.find(run->first);
    for (auto log = run->second.logs.begin(); log != run->second.logs.end();) {
      if (listed != layout.end() && listed->second.contains(log->first)) {
        ++log;
        continue;
      }
      run->second.run->drop_log(log->second->id(), log->first);
      log = run->second.logs.erase(log);
      changed = true;
    }
    if (!run->second.logs.empty()) {
      ++run;
      continue;
    }
    const std::lock_guard lock(mutex_);
    shown_.erase(run->first);
    run = followed_.erase(run);
  }
  return changed;
}

// Returns the runs that have something new to read, the largest first, so that threads do not wait for a
// single large run at the end.
LogFolder::Behind LogFolder::runs_behind(const LogLayout& layout) {
  std::vector<std::pair<std::uint64_t, std::string>> live, others;
  for (const auto& [name, logs] : layout) {
    FollowedRun& run = followed_[name];
    if (!run.run) {
      run.run = std::make_shared<Run>(options_.only_scalars);
      const std::lock_guard lock(mutex_);
      shown_.emplace(name, run.run);
    }
    bool is_behind = false;
    std::uint64_t bytes = 0;
    for (const auto& [log, segments] : logs) {
      std::unique_ptr<LogReader>& reader = run.logs[log];
      if (!reader) reader = std::make_unique<LogReader>(next_log_++, log);
      is_behind = reader->is_behind(segments) || is_behind;
      for (const ObjectInfo& segment : segments) bytes += segment.size_bytes;
    }
    if (is_behind) (run.was_current ? live : others).emplace_back(bytes, name);
  }
  const auto names = [](std::vector<std::pair<std::uint64_t, std::string>>& runs) {
    std::ranges::stable_sort(runs, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> out;
    for (auto& [bytes, name] : runs) out.push_back(std::move(name));
    return out;
  };
  return {names(live), names(others)};
}

Status LogFolder::read_run(const std::string& name, const LogLayout& layout, const CallOptions& call,
                           const std::function<bool()>& must_pause) {
  FollowedRun& run = followed_.find(name)->second;
  const LogReading reading{*folder_.store, *run.run, options_.warn, call, must_pause};
  Status outcome;
  bool is_current = true;
  for (const auto& [log, segments] : layout.find(name)->second) {
    LogReader& reader = *run.logs.find(log)->second;
    if (!reader.is_behind(segments)) continue;
    if (must_pause()) return outcome;
    Status done = reader.advance(reading, segments);
    if (!done && outcome) outcome = std::move(done);
    is_current = is_current && !reader.is_behind(segments);
  }
  run.was_current = run.was_current || is_current;
  return outcome;
}

// Reads runs until `time` is over, so that new data can be listed. Returns whether the time was over before
// all runs were read.
Result<bool> LogFolder::read_runs(const std::vector<std::string>& names, const LogLayout& layout,
                                  Clock::duration time, const CallOptions& call) {
  const Clock::time_point until = Clock::now() + time;
  std::atomic<bool> has_paused = false;
  const auto must_pause = [&] {
    if (Clock::now() >= until) has_paused = true;
    return has_paused.load();
  };
  std::mutex first_error_mutex;
  Status first_error;
  HEADRACE_CHECK(parallel_for(options_.load_threads, names.size(), [&](std::size_t i) -> Status {
    if (call.stop.stop_requested()) return Error{Code::kCancelled, "stopped"};
    Status done = read_run(names[i], layout, call, must_pause);
    const std::lock_guard lock(first_error_mutex);
    if (!done && first_error) first_error = std::move(done);
    return {};  // other runs can still be read
  }));
  HEADRACE_CHECK(std::move(first_error));
  return has_paused.load();
}

Result<PollOutcome> LogFolder::poll(const CallOptions& call) {
  const Clock::time_point began = Clock::now();
  HEADRACE_TRY(const LogLayout layout, list(call));
  const auto time = std::max<Clock::duration>(options_.reading_time, 4 * (Clock::now() - began));
  PollOutcome out;
  for (const auto& [run, logs] : layout) {
    for (const auto& [log, segments] : logs) out.event_files += segments.size();
  }
  const bool forgot = forget_missing(layout);
  const Behind behind = runs_behind(layout);
  const Result<bool> live = read_runs(behind.live, layout, time, call);
  HEADRACE_TRY(const bool others_paused, read_runs(behind.others, layout, time, call));
  HEADRACE_TRY(const bool live_paused, live);
  out.has_more = live_paused || others_paused;
  out.runs_read = behind.live.size() + behind.others.size();
  out.changed = forgot || out.runs_read > 0;
  return out;
}

std::shared_ptr<Run> LogFolder::add_run(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return shown_.try_emplace(name, std::make_shared<Run>()).first->second;
}

std::map<std::string, std::shared_ptr<Run>> LogFolder::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

std::vector<LogFolder::RunInfo> LogFolder::runs() const {
  std::vector<RunInfo> out;
  for (const auto& [name, run] : shown()) out.push_back({name, run->start_time_s()});
  return out;
}

std::set<std::string> LogFolder::plugins() const {
  std::set<std::string> out;
  for (const auto& [name, run] : shown()) out.merge(run->plugins());
  return out;
}

void LogFolder::for_each_series(const SeriesQuery& query, const Visit& visit) const {
  const auto runs = shown();
  for (const auto& [name, run] : runs) {
    if (query.runs && !query.runs->contains(name)) continue;
    const auto filtered = [&, &run_name = name](const std::string& tag, const Series& series,
                                                const LogTimes& begun) {
      if (series.kind.data_class != query.data_class || series.plugin_name != query.plugin) return;
      visit(run_name, tag, series, begun);
    };
    if (!query.tags) run->for_each(filtered);
    if (query.tags) {
      for (const std::string& tag : *query.tags) run->for_tag(tag, filtered);
    }
  }
}

std::string LogFolder::blob_key(const BlobSequence& sequence, const BlobReference& blob) const {
  return write_blob_key(options_.blob_secret, *sequence.object_key, blob);
}

Result<Bytes> LogFolder::read_blob(std::string_view key, const CallOptions& call) const {
  HEADRACE_TRY(const BlobPlace place, read_blob_key(options_.blob_secret, key));
  const BlobReference& blob = place.blob;
  if (!blob.literal.empty() || blob.length_bytes == 0) return to_bytes(blob.literal);
  Bytes out(blob.length_bytes);
  const auto read =
      folder_.store->read_into(place.object_key, out, {.offset_bytes = blob.offset_bytes, .call = call});
  if (!read && read.error().code != Code::kOutOfRange) return read.error();
  if (!read || read->bytes_read != out.size() || crc32c(out) != blob.crc32c) {
    return Error{Code::kNotFound, concat(folder_.store->describe(place.object_key), ": the ", out.size(),
                                         " bytes at offset ", blob.offset_bytes, " have changed")};
  }
  return out;
}

}  // namespace headrace
