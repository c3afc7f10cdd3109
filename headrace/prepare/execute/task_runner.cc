#include "headrace/prepare/execute/task_runner.h"

#include <atomic>

#include "headrace/base/text.h"
#include "headrace/net/backoff.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/map/map_pool.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// The tasks of one kind: all slices, or all shards.
struct Phase {
  std::string_view stage;
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // number of the first one among all tasks
  /// Which are left, ascending, counted from 0.
  std::function<Result<std::vector<std::uint64_t>>()> look;
  std::function<Status(std::uint64_t)> execute;
};

class PhaseRun {
 public:
  PhaseRun(const TaskContext& context, TaskClaims& claims, const TaskRunOptions& options,
           const TaskProgress& progress, const Phase& phase)
      : context_(context), claims_(claims), options_(options), progress_(progress), phase_(phase) {}

  Status run() {
    while (true) {
      if (context_.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
      HEADRACE_TRY(const std::vector<std::uint64_t> left, phase_.look());
      progress_(phase_.stage, phase_.count - left.size(), phase_.count);
      if (left.empty()) return {};
      // Who has published removes what tells that tasks are done.
      HEADRACE_TRY(const std::optional<PrepareResult> published, find_published(context_));
      if (published) return {};
      HEADRACE_CHECK(check_patience(left));
      HEADRACE_CHECK(execute(left));
      if (executed_ > 0) continue;
      if (!sleep_unless_stopped(options_.look_each, context_.stop))
        return Error{Code::kCancelled, "preparing was stopped"};
    }
  }

 private:
  Status check_patience(const std::vector<std::uint64_t>& left) {
    const Clock::time_point now = Clock::now();
    if (left.size() != left_before_ || executed_ > 0) {
      left_before_ = left.size();
      last_change_ = now;
    }
    if (now - last_change_ < options_.patience) return {};
    return Error{Code::kDeadlineExceeded,
                 concat("task ", phase_.first + left.front(), " and ", left.size() - 1,
                        " others were left to other processes, and none was done for ",
                        std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                        " s; see whether those run, or run this one without a rank")};
  }

  Status execute(const std::vector<std::uint64_t>& left) {
    executed_ = 0;
    return parallel_for(options_.workers, left.size(), [&](std::size_t i) -> Status {
      if (context_.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
      const std::uint64_t task = phase_.first + left[i];
      HEADRACE_TRY(const bool is_mine, claims_.claim(task));
      if (!is_mine) return {};
      const Status done = phase_.execute(left[i]);
      claims_.release(task);
      if (!done) return done.error().in(concat("task ", task));
      ++executed_;
      return {};
    });
  }

  const TaskContext& context_;
  TaskClaims& claims_;
  const TaskRunOptions& options_;
  const TaskProgress& progress_;
  const Phase& phase_;
  std::atomic<std::uint64_t> executed_{0};
  std::size_t left_before_ = 0;
  Clock::time_point last_change_ = Clock::now();
};

Status run_phases(const TaskContext& context, TaskClaims& claims, const TaskRunOptions& options,
                  const TaskProgress& progress) {
  const std::uint64_t slices = context.plan.input.slices.size();
  const Phase reading{"reading", slices, 0, [&] { return unread_slices_of(context); },
                      [&](std::uint64_t slice) -> Status {
                        HEADRACE_CHECK(extract_slice(context, slice, [](std::uint64_t) {}));
                        return {};
                      }};
  HEADRACE_CHECK(PhaseRun(context, claims, options, progress, reading).run());
  if (context.map != nullptr) context.map->end_idle();
  HEADRACE_TRY(const std::optional<PrepareResult> published, find_published(context));
  if (published) return {};
  HEADRACE_TRY(const PlanState state, look_at_plan(context, options.max_rejects));
  if (!state.arrangement) return Error{Code::kAborted, "slices that were read are gone; run it again"};
  const std::vector<ShardTask> tasks = state.arrangement->tasks();
  const Phase writing{
      "writing", tasks.size(), slices, [&] { return unwritten_shards(context, tasks); },
      [&](std::uint64_t i) { return write_if_absent(context, *state.arrangement, tasks[i]); }};
  return PhaseRun(context, claims, options, progress, writing).run();
}

}  // namespace

Status run_tasks(const TaskContext& context, TaskClaims& claims, const TaskRunOptions& options,
                 const TaskProgress& progress) {
  return unless_published(context, run_phases(context, claims, options, progress));
}

}  // namespace headrace
