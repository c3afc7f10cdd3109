#pragma once

/// \file Executes tasks of a shared plan, with others or alone, until all are done.

#include <chrono>
#include <functional>
#include <string_view>

#include "headrace/prepare/execute/shared_plan.h"
#include "headrace/prepare/execute/task_claims.h"

namespace headrace {

struct TaskRunOptions {
  int workers = 1;
  RejectLimit max_rejects{};
  /// How often to look whether others are done.
  std::chrono::milliseconds look_each{500};
  /// Without any task done by anybody for so long, waiting for others ends.
  std::chrono::milliseconds patience{600'000};
};

/// stage ("reading", "writing"), tasks done by anybody, all tasks. Calls do not overlap.
using TaskProgress = std::function<void(std::string_view, std::uint64_t, std::uint64_t)>;

/// Executes what it may claim, and waits for what others have claimed; returns once every task is done.
/// \error kDeadlineExceeded  others have done nothing for `patience`: names the first task that is left
/// \error kCancelled, and what a task returns
Status run_tasks(const TaskContext& context, TaskClaims& claims, const TaskRunOptions& options,
                 const TaskProgress& progress);

}  // namespace headrace
