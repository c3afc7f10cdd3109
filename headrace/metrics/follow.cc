#include "headrace/metrics/follow.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/metrics/attempts.h"
#include "headrace/os/parallel.h"

namespace headrace {

namespace {

constexpr std::uint64_t kReadWholeBytes = 8 << 20;
constexpr int kLogsAtOnce = 8;

// The segment with the largest range among those that hold `number`; null if there is none.
const StoredSegment* segment_with(const std::vector<StoredSegment>& stored, std::uint64_t number) {
  const StoredSegment* found = nullptr;
  for (const StoredSegment& segment : stored) {
    if (segment.first > number || number > segment.last) continue;
    if (found == nullptr || segment.last > found->last) found = &segment;
  }
  return found;
}

Result<ReadSegment> open_segment(const Location& folder, const StoredSegment& segment,
                                 const CallOptions& call) {
  if (segment.size_bytes > kReadWholeBytes) {
    return ReadSegment([&folder, &segment, call](std::uint64_t offset, std::uint64_t size) -> Result<Bytes> {
      if (size > kSegmentLimitBytes)
        return Error{Code::kDataLoss, concat("a range of ", size, " bytes is larger than a segment can be")};
      Bytes bytes(size);
      HEADRACE_CHECK(
          read_exactly(*folder.store, segment.key, bytes, ReadOptions{.offset_bytes = offset, .call = call}));
      return bytes;
    });
  }
  HEADRACE_TRY(ReadObject object, read_object(*folder.store, segment.key, kReadWholeBytes, call));
  const auto whole = std::make_shared<Bytes>(std::move(object.data));
  return ReadSegment(
      [whole](std::uint64_t offset, std::uint64_t size) { return read_from(*whole)(offset, size); });
}

// The number of points of the metric that has the most.
std::uint64_t most_points(const std::vector<NewPoint>& points) {
  std::map<std::string_view, std::uint64_t> counts;
  std::uint64_t most = 0;
  for (const NewPoint& point : points) most = std::max(most, ++counts[point.metric]);
  return most;
}

// The rank of a log is the beginning of its name: "cnn-1/000003-" for rank 3. A time follows, which sorts the
// latest attempt first.
std::string_view rank_of_log(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dash = name.find('-', slash == name.npos ? 0 : slash);
  return dash == name.npos ? name : name.substr(0, dash + 1);
}

}  // namespace

void SegmentFollower::add_log(const std::string& part, std::uint64_t rank) {
  add(part, FollowedLog{.rank = rank});
}

void SegmentFollower::add(const std::string& name, FollowedLog log) {
  const std::scoped_lock lock(attempts_mutex_);
  if (logs_.try_emplace(name, std::move(log)).second) update_ends(name);
}

// Returns the first step of this log that a later attempt supersedes.
std::optional<std::int64_t> SegmentFollower::note_attempt(const std::string& name, FollowedLog& log,
                                                          std::optional<std::int64_t> from_step) {
  const std::scoped_lock lock(attempts_mutex_);
  if (from_step && !log.from_step) {
    log.from_step = from_step;
    update_ends(name);
  }
  return log.end;
}

// Updates all attempts of that log's rank. REQUIRES: attempts_mutex_ is held
void SegmentFollower::update_ends(std::string_view name) {
  const std::string_view rank = rank_of_log(name);
  LaterAttempts later;
  for (auto log = logs_.lower_bound(rank); log != logs_.end() && rank_of_log(log->first) == rank; ++log) {
    if (std::exchange(log->second.end, later.end()) != later.end() && on_superseded_)
      on_superseded_(log->first, *later.end());
    later.add(log->second.from_step);
  }
}

Status SegmentFollower::poll(const CallOptions& call, std::vector<NewPoint>& points) {
  std::vector<ObjectInfo> listed;
  HEADRACE_CHECK(
      folder_.store->list(folder_prefix(folder_.key), {.call = call}, [&](const ObjectInfo& object) {
        listed.push_back(object);
        return true;
      }));
  std::mutex mutex;
  std::map<std::string, std::vector<NewPoint>> found;  // by log
  const auto keep = [&](const std::string& log, std::vector<NewPoint> more) {
    const std::scoped_lock lock(mutex);
    std::ranges::move(more, std::back_inserter(found[log]));
  };
  const Status done = read(listed, call, keep, [] { return false; });
  for (auto& [log, more] : found) {
    const std::optional<std::int64_t> end = logs_.find(log)->second.end;
    if (end) std::erase_if(more, [&](const NewPoint& point) { return point.step >= *end; });
    std::ranges::move(more, std::back_inserter(points));
  }
  return done;
}

Status SegmentFollower::read(const std::vector<ObjectInfo>& listed, const CallOptions& call, const Sink& sink,
                             const std::function<bool()>& must_pause) {
  std::map<std::string, std::vector<StoredSegment>> stored;  // by log; may be new
  const std::string prefix = folder_prefix(folder_.key);
  for (const ObjectInfo& object : listed) {
    if (!object.key.starts_with(prefix)) continue;
    const std::string_view rest = std::string_view(object.key).substr(prefix.size());
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos) continue;
    const auto range = parse_segment_name(rest.substr(slash + 1));
    if (!range) continue;
    const std::string name(rest.substr(0, slash));
    if (!first_points_) add(name, FollowedLog{.next = 0});
    const auto log = logs_.find(name);
    if (log != logs_.end() && range->second >= log->second.next.value_or(0))
      stored[name].push_back({range->first, range->second, object.key, object.size_bytes});
  }
  std::vector<std::pair<const std::string, std::vector<StoredSegment>>*> logs;
  for (auto& entry : stored) logs.push_back(&entry);
  std::mutex mutex;
  Status first_error;
  HEADRACE_CHECK(parallel_for(kLogsAtOnce, logs.size(), [&](std::size_t i) -> Status {
    const std::string& name = logs[i]->first;
    FollowedLog& log = logs_.find(name)->second;
    const Reading reading{name, log, call,
                          [&](std::vector<NewPoint> points) { sink(name, std::move(points)); }};
    Status done = log.next ? read_new(reading, logs[i]->second, must_pause)
                           : read_recent(reading, std::move(logs[i]->second));
    const std::scoped_lock lock(mutex);
    if (!done && first_error) first_error = std::move(done);
    return {};  // other logs can still be read
  }));
  return first_error;
}

Status SegmentFollower::read_recent(const Reading& reading, std::vector<StoredSegment> stored) {
  HEADRACE_TRY(const CoveringSegments all, covering_segments(std::move(stored), folder_.describe()));
  std::vector<NewPoint> recent;
  for (auto segment = all.chosen.rbegin(); segment != all.chosen.rend(); ++segment) {
    std::vector<NewPoint> before;
    HEADRACE_CHECK(read_segment(reading, *segment, before));
    std::ranges::move(recent, std::back_inserter(before));
    recent = std::move(before);
    if (most_points(recent) >= *first_points_) break;
  }
  reading.log.next = all.chosen.empty() ? 0 : all.chosen.back().last + 1;
  reading.emit(std::move(recent));
  return {};
}

Status SegmentFollower::read_new(const Reading& reading, const std::vector<StoredSegment>& stored,
                                 const std::function<bool()>& must_pause) {
  FollowedLog& log = reading.log;
  std::uint64_t end = 0;  // the number after the last segment
  for (const StoredSegment& segment : stored) end = std::max(end, segment.last + 1);
  while (*log.next < end && !must_pause()) {
    const StoredSegment* const segment = segment_with(stored, *log.next);
    if (segment == nullptr)
      return Error{Code::kDataLoss,
                   concat(folder_.describe(), ": segment ", segment_name(*log.next, *log.next),
                          " of a log is missing; there are later ones")};
    std::vector<NewPoint> points;
    HEADRACE_TRY(log.next, read_segment(reading, *segment, points));
    reading.emit(std::move(points));
  }
  return {};
}

// Returns the number after the last one in the segment.
Result<std::uint64_t> SegmentFollower::read_segment(const Reading& reading, const StoredSegment& segment,
                                                    std::vector<NewPoint>& points) {
  FollowedLog& log = reading.log;
  const auto at_segment = [&](Error error) {
    return std::move(error).in(folder_.store->describe(segment.key));
  };
  HEADRACE_TRY(const ReadSegment read, open_segment(folder_, segment, reading.call));
  const auto footer = read_footer(read, segment.size_bytes);
  if (!footer) return at_segment(footer.error());
  const std::optional<std::int64_t> end = note_attempt(reading.name, log, footer->head.from_step);
  // A compacted segment also holds points that were read before.
  const bool has_old = log.newest_us && log.next && segment.first < *log.next;
  const std::int64_t after_us = has_old ? *log.newest_us : 0;
  std::vector<std::optional<AxisPoints>> axes(footer->axes.size());
  std::vector<NewPoint> found;
  for (const SegmentColumn& column : footer->columns) {
    std::optional<AxisPoints>& axis = axes[column.axis];
    if (!axis) {
      auto points_of_axis = read_axis(read, footer->axes[column.axis]);
      if (!points_of_axis) return at_segment(points_of_axis.error());
      axis = std::move(*points_of_axis);
    }
    const auto values = read_values(read, *footer, column);
    if (!values) return at_segment(values.error());
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (has_old && axis->times_us[i] <= after_us) continue;
      if (end && axis->steps[i] >= *end) continue;
      found.push_back({column.name, log.rank, axis->steps[i], axis->times_us[i], (*values)[i]});
    }
  }
  for (const NewPoint& point : found)
    log.newest_us = std::max(log.newest_us.value_or(point.time_us), point.time_us);
  std::ranges::move(found, std::back_inserter(points));
  return segment.last + 1;
}

Status EventFollower::poll(const CallOptions& call, std::vector<NewPoint>& points) {
  HEADRACE_TRY(const bool has_news, events_.read_all(call));
  if (!has_news) return {};
  for (const std::string& name : events_.names()) {
    const MetricSeries series = events_.read(name);
    const auto known = newest_.find(name);
    std::optional<Place> newest;
    if (known != newest_.end()) newest = known->second;
    const std::optional<Place> before = newest;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      const Place place(series.times_us[i], series.steps[i]);
      if (before && place <= *before) continue;
      points.push_back({name, rank_, series.steps[i], series.times_us[i], series.values[i]});
      newest = std::max(newest.value_or(place), place);
    }
    if (newest) newest_[name] = *newest;
  }
  return {};
}

}  // namespace headrace
