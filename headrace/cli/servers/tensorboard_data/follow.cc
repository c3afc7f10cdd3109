#include "headrace/cli/servers/tensorboard_data/follow.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/events/poll_schedule.h"

namespace headrace {

namespace {

/// If a store does not answer within this time, that is reported, and the store is asked again.
constexpr std::chrono::milliseconds kDeadline{10'000};

Result<PollOutcome> poll_both(LogFolder& folder, SegmentRuns& segments, const CallOptions& call) {
  HEADRACE_TRY(PollOutcome outcome, folder.poll(call));
  HEADRACE_TRY(const PollOutcome of_segments, segments.read(folder, call));
  outcome.changed = outcome.changed || of_segments.changed;
  outcome.has_more = outcome.has_more || of_segments.has_more;
  return outcome;
}

}  // namespace

void follow(LogFolder& folder, SegmentRuns& segments, const std::function<void(const std::string&)>& tell,
            std::uint64_t& polls, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  PollSchedule schedule;
  std::mutex mutex;
  std::condition_variable_any stopped;
  bool is_unreachable = false;
  while (!stop.stop_requested()) {
    const Clock::time_point start = Clock::now();
    const Result<PollOutcome> outcome = poll_both(folder, segments, {.deadline = kDeadline, .stop = stop});
    if (stop.stop_requested()) return;
    ++polls;
    if (!outcome && !is_unreachable) {
      tell(concat(outcome.error().message, "; the data read so far stay visible until this ends"));
    }
    if (outcome && is_unreachable) tell(concat(folder.describe(), " can be read again"));
    is_unreachable = !outcome;
    if (outcome && outcome->has_more) continue;
    const auto took = std::chrono::duration_cast<PollSchedule::Time>(Clock::now() - start);
    const PollSchedule::Time wait = schedule.wait_after(!outcome || outcome->changed, took);
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, wait, [] { return false; });
  }
}

}  // namespace headrace
