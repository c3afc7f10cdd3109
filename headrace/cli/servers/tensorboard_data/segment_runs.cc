#include "headrace/cli/servers/tensorboard_data/segment_runs.h"

#include <atomic>
#include <chrono>
#include <string_view>

#include "headrace/base/text.h"
#include "headrace/track/run_keys.h"

namespace headrace {

namespace {

constexpr std::chrono::milliseconds kReadingTime{500};

// The folder of the logs, without the slash at its end.
std::string_view logs_folder() { return kMetricsPrefix.substr(0, kMetricsPrefix.size() - 1); }

// The run of a log: "_headrace/metrics/cnn-1" for "cnn-1/<part>". Each rank above 0 has its own run,
// "_headrace/metrics/cnn-1/rank-3".
std::string run_name(std::string_view log) {
  const std::size_t slash = log.rfind('/');
  const auto part = parse_part_name(slash == std::string_view::npos ? log : log.substr(slash + 1));
  const std::string name = concat(kMetricsPrefix, log.substr(0, slash));
  return part && part->rank > 0 ? concat(name, "/rank-", part->rank) : name;
}

}  // namespace

SegmentRuns::SegmentRuns(const Location& place)
    : prefix_(folder_prefix(place.at(logs_folder()).key)),
      follower_(place.at(logs_folder()), [this](const std::string& log, std::int64_t step) {
        {
          const std::scoped_lock lock(mutex_);
          ends_[log] = step;
        }
        cut(log);
      }) {}

void SegmentRuns::listed(const ObjectInfo& object) {
  if (object.key.starts_with(prefix_)) listed_.push_back(object);
}

SegmentRuns::ShownLog SegmentRuns::shown(LogFolder& folder, const std::string& log) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] = logs_.try_emplace(log);
  if (is_new) place->second = {static_cast<LogId>(logs_.size()), folder.add_run(run_name(log))};
  return place->second;
}

// Called after points are added to a log, and after its end is known, in any order.
void SegmentRuns::cut(const std::string& log) {
  const std::scoped_lock lock(mutex_);
  const auto end = ends_.find(log);
  const auto shown = logs_.find(log);
  if (end != ends_.end() && shown != logs_.end()) shown->second.run->cut_log(shown->second.id, end->second);
}

Result<PollOutcome> SegmentRuns::read(LogFolder& folder, const CallOptions& call) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + kReadingTime;
  std::atomic<bool> has_paused = false;
  std::atomic<bool> has_news = false;
  const auto sink = [&](const std::string& log, std::vector<NewPoint> points) {
    std::vector<RunPoint> scalars;
    scalars.reserve(points.size());
    for (const NewPoint& point : points)
      scalars.push_back({point.metric, point.step, static_cast<double>(point.time_us) / 1e6, point.value});
    const ShownLog to = shown(folder, log);
    to.run->add_scalars(to.id, log, scalars);
    cut(log);
    has_news = true;
  };
  const auto must_pause = [&] {
    if (Clock::now() >= until) has_paused = true;
    return has_paused.load();
  };
  const std::vector<ObjectInfo> listed = std::exchange(listed_, {});
  HEADRACE_CHECK(follower_.read(listed, call, sink, must_pause));
  return PollOutcome{.changed = has_news, .has_more = has_paused};
}

}  // namespace headrace
