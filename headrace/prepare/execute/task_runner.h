#pragma once

/// \file Executes the tasks of a plan until all are done, alone or together with other processes.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "headrace/coordinate/task_claims.h"
#include "headrace/net/backoff.h"
#include "headrace/prepare/execute/plan_tasks.h"

namespace headrace {

struct TaskRunOptions {
  int workers = 1;
  /// How often to check whether other processes have finished their tasks.
  std::chrono::milliseconds poll_interval{500};
  /// Waiting ends if no process has finished a task for this long.
  std::chrono::milliseconds patience{600'000};
  /// The clock and the wait for both; tests pass their own.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  std::function<bool(std::chrono::milliseconds, const std::stop_token&)> sleep = sleep_unless_stopped;
};

struct PrepareState {
  std::string_view stage;  // "reading", "writing"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  /// The unit of `done` and `total`: "bytes" and "records" if the process is alone; else "tasks" of all
  /// processes.
  std::string_view unit;
  std::uint64_t rejected = 0;  // rows so far, if the process is alone
};
/// Calls do not overlap.
using PrepareProgress = std::function<void(const PrepareState&)>;

/// Executes the tasks that it can claim, and waits for tasks that other processes have claimed. Returns when
/// every task is done, or the dataset is published. REQUIRES: if the process is alone, it can claim all tasks
/// \error kDeadlineExceeded  no process has finished a task for `patience`; names the first task that is left
/// \error kCancelled         the run was stopped
/// \error of a task
Status run_tasks(PlanTasks& tasks, TaskClaims& claims, const TaskRunOptions& options,
                 const PrepareProgress& progress);

}  // namespace headrace
