#pragma once

/// \file Executes tasks of a plan, with others or alone, until all are done.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "headrace/prepare/execute/plan_tasks.h"
#include "headrace/prepare/execute/task_claims.h"

namespace headrace {

struct TaskRunOptions {
  int workers = 1;
  /// How often to look whether others are done.
  std::chrono::milliseconds look_each{500};
  /// Without any task done by anybody for so long, waiting for others ends.
  std::chrono::milliseconds patience{600'000};
};

struct PrepareState {
  std::string_view stage;  // "reading", "writing"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  /// Of both: "bytes" and "records", if the process is alone; else "tasks", done by anybody.
  std::string_view unit;
  std::uint64_t rejected = 0;  // rows, so far; told if the process is alone
};
/// Calls do not overlap.
using PrepareProgress = std::function<void(const PrepareState&)>;

/// Executes what it may claim, and waits for what others have claimed; returns once every task is done, or
/// the dataset is published. REQUIRES: if the process is alone, it may claim all
/// \error kDeadlineExceeded  others have done nothing for `patience`: names the first task that is left
/// \error kCancelled, and what a task returns
Status run_tasks(PlanTasks& tasks, TaskClaims& claims, const TaskRunOptions& options,
                 const PrepareProgress& progress);

}  // namespace headrace
