#include "headrace/prepare/execute/task_runner.h"

#include <atomic>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/map/map_pool.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// Adds up the progress of all workers. Only one worker at a time reports it.
class SharedProgress {
 public:
  SharedProgress(const PrepareProgress& progress, const PrepareState& begin)
      : progress_(progress), state_(begin) {}

  void add(std::uint64_t done, std::uint64_t rejected) {
    const std::lock_guard lock(mutex_);
    state_.done += done;
    state_.rejected += rejected;
    progress_(state_);
  }

 private:
  const PrepareProgress& progress_;
  std::mutex mutex_;
  PrepareState state_;
};

// The tasks of one kind: all slices, or all shards.
struct Phase {
  PrepareState begin;  // what a process that is alone reports at the beginning
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // number of its first task among all tasks
  /// Returns the tasks that are left, ascending, counted from 0.
  std::function<Result<std::vector<std::uint64_t>>()> look;
  std::function<Status(std::uint64_t, const PlanTasks::Progress&)> execute;
};

class PhaseRun {
 public:
  PhaseRun(const PlanTasks& tasks, TaskClaims& claims, const TaskRunOptions& options,
           const PrepareProgress& progress, const Phase& phase)
      : tasks_(tasks),
        stop_(tasks.context().stop),
        claims_(claims),
        options_(options),
        progress_(progress),
        shared_progress_(progress, phase.begin),
        phase_(phase),
        last_change_(options.now()) {}

  Status run() {
    while (true) {
      if (stop_.stop_requested()) return stopped();
      HEADRACE_TRY(const std::vector<std::uint64_t> left, phase_.look());
      if (!tasks_.is_alone()) {
        progress_({phase_.begin.stage, phase_.count - left.size(), phase_.count, "tasks"});
      }
      if (left.empty()) return {};
      if (!tasks_.is_alone()) {
        // The process that publishes removes the receipts that show which tasks are done.
        HEADRACE_TRY(const std::optional<PrepareResult> published, find_published(tasks_.context()));
        if (published) return {};
        HEADRACE_CHECK(check_patience(left));
      }
      HEADRACE_CHECK(execute(left));
      if (executed_ > 0) continue;
      if (!options_.sleep(options_.poll_interval, stop_)) return stopped();
    }
  }

 private:
  static Error stopped() { return {Code::kCancelled, "preparing was stopped"}; }

  Status check_patience(const std::vector<std::uint64_t>& left) {
    const Clock::time_point now = options_.now();
    if (left.size() != left_before_ || executed_ > 0) {
      left_before_ = left.size();
      last_change_ = now;
    }
    if (now - last_change_ < options_.patience) return {};
    return Error{Code::kDeadlineExceeded,
                 concat("task ", phase_.first + left.front(), " and ", left.size() - 1,
                        " others were left to other processes, and none was finished for ",
                        std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                        " s; check that those processes run, or run this command without a rank")};
  }

  Status execute(const std::vector<std::uint64_t>& left) {
    executed_ = 0;
    return parallel_for(options_.workers, left.size(), [&](std::size_t i) -> Status {
      if (stop_.stop_requested()) return stopped();
      const std::uint64_t task = phase_.first + left[i];
      HEADRACE_TRY(const bool is_mine, claims_.claim(task));
      if (!is_mine) return {};
      const Status done = phase_.execute(left[i], [&](std::uint64_t amount, std::uint64_t rejected) {
        if (tasks_.is_alone()) shared_progress_.add(amount, rejected);
      });
      claims_.release(task);
      if (!done) return tasks_.is_alone() ? done.error() : done.error().in(concat("task ", task));
      ++executed_;
      return {};
    });
  }

  const PlanTasks& tasks_;
  const std::stop_token stop_;
  TaskClaims& claims_;
  const TaskRunOptions& options_;
  const PrepareProgress& progress_;
  SharedProgress shared_progress_;
  const Phase& phase_;
  std::atomic<std::uint64_t> executed_{0};
  std::size_t left_before_ = 0;
  Clock::time_point last_change_;
};

Status run_phases(PlanTasks& tasks, TaskClaims& claims, const TaskRunOptions& options,
                  const PrepareProgress& progress) {
  const TaskContext& context = tasks.context();
  const Phase reading{
      .begin = {.stage = "reading", .total = context.plan.input.size_bytes, .unit = "bytes"},
      .count = tasks.read_tasks(),
      .look = [&] { return tasks.unread(); },
      .execute = [&](std::uint64_t slice, const auto& told) { return tasks.read(slice, told); }};
  HEADRACE_CHECK(PhaseRun(tasks, claims, options, progress, reading).run());
  if (context.map != nullptr) context.map->end_idle();
  if (!tasks.is_alone()) {
    HEADRACE_TRY(const std::optional<PrepareResult> published, find_published(context));
    if (published) return {};
  }
  HEADRACE_CHECK(tasks.begin_writing());
  HEADRACE_TRY(const Arrangement* const arrangement, tasks.arrange());
  const Phase writing{
      .begin = {.stage = "writing",
                .total = arrangement->counts.kept,
                .unit = "records",
                .rejected = arrangement->counts.rejected},
      .count = arrangement->tasks().size(),
      .first = tasks.read_tasks(),
      .look = [&] { return tasks.unwritten(); },
      .execute = [&](std::uint64_t shard, const auto& told) { return tasks.write(shard, told); }};
  return PhaseRun(tasks, claims, options, progress, writing).run();
}

}  // namespace

Status run_tasks(PlanTasks& tasks, TaskClaims& claims, const TaskRunOptions& options,
                 const PrepareProgress& progress) {
  const Status done = run_phases(tasks, claims, options, progress);
  // Before the tasks have begun, a published dataset may be the one that --overwrite is about to replace.
  return tasks.has_begun() ? tasks.unless_published(done) : done;
}

}  // namespace headrace
