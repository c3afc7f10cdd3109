#pragma once

/// \file The data read so far of one run.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "headrace/base/result.h"
#include "headrace/events/series.h"
#include "headrace/record/event_stream.h"

namespace headrace {

/// Where the events of a stream come from.
struct EventSource {
  LogId log = 0;
  /// Determines the order of the logs in a run.
  std::string_view log_name;
  std::shared_ptr<const std::string> object_key;
  /// Called for each part that was left out, with the reason.
  std::function<void(const Error&)> problem;
};

/// A scalar that comes from no event file.
struct RunPoint {
  std::string_view tag;
  std::int64_t step = 0;
  double wall_time_s = 0;
  double value = 0;
};

/// Thread-safe: one thread adds to it, while any number of others read.
class Run {
 public:
  /// \param only_scalars  leave all other series out
  explicit Run(bool only_scalars = false) : only_scalars_(only_scalars) {}

  /// Takes every complete event out of `stream`. Returns kWait at the end of the data, or kBroken if nothing
  /// more can be read from the stream.
  StreamOutcome take(EventStream& stream, const EventSource& source);
  void drop_log(LogId log, std::string_view log_name);
  /// Forgets the scalars of that log at that step or later, because another log repeats them.
  void cut_log(LogId log, std::int64_t step);
  /// Adds the points that the writer of that log has logged next.
  void add_scalars(LogId log, std::string_view log_name, std::span<const RunPoint> points);

  /// Wall time of the first event of the first log, in seconds since 1970; none before the first event.
  std::optional<double> start_time_s() const;

  /// Plugins of all series, and of values that could not be read.
  std::set<std::string> plugins() const;

  /// Calls `visit` for every series in the order of tags, or for the series of `tag` if there is one. Nothing
  /// is added meanwhile.
  using Visit = std::function<void(const std::string& tag, const Series&, const LogTimes&)>;
  void for_each(const Visit& visit) const;
  void for_tag(const std::string& tag, const Visit& visit) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  struct Entry {
    std::unique_ptr<Series> series;
    std::string_view tag{};
    /// The entry that was found after this one the last time. Writers go through the same tags in the same
    /// order, so mostly no lookup is needed.
    Entry* follower = nullptr;
  };

  bool add_plain_scalar(const StreamEvent& event, const EventSource& source);
  Status add(const StreamEvent& event, const EventSource& source);
  Status add_value(const MigratedValue& value, Series* series, const StreamEvent& event,
                   const EventSource& source);
  void begin_log(const EventSource& source, double wall_time_s);
  void note_unread(LogId log, std::string_view plugin);
  void drop_series_if(const std::function<bool(Series&)>& is_dropped);
  Series* find(std::string_view tag);
  Series* create(std::string_view tag, const SeriesKind& kind, const MetadataView& metadata);

  const bool only_scalars_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> series_;
  Entry* latest_ = nullptr;  // the entry that `find` found last
  LogTimes begun_;
  std::map<std::string, double, std::less<>> begun_by_name_;
  EventMigration migration_;
  std::map<LogId, std::set<std::string, std::less<>>> unread_plugins_;  // of values that could not be read
};

}  // namespace headrace
