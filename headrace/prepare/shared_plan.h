#pragma once

/// \file A plan in a store, whose tasks any number of processes execute. Tasks have numbers: first those
/// that read a slice, then those that write a shard; how many of these is known once all slices are read.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/prepare/publish.h"

namespace headrace {

/// Makes the output the plan's own (see claim_output), and leaves there what the others need.
/// \error kFailedPrecondition  another plan was begun there, and not `overwrite`
Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite);

/// Of one that is published, without slices: there is nothing left to be done.
/// \error kNotFound  no plan was shared there
/// \error kDataLoss, kFailedPrecondition  see parse_plan
Result<PreparePlan> read_shared_plan(const Location& output);

/// What is done of a plan. All of it may be asked for by several processes at once.
struct PlanState {
  std::uint64_t read_tasks = 0;
  std::vector<std::uint64_t> unread;  // slices without a receipt
  /// Once all slices are read.
  std::optional<Arrangement> arrangement;
};
/// Cost: a list, and one read for each slice once all are there.
Result<PlanState> look_at_plan(const TaskContext& context, const RejectLimit& max_rejects);

/// Executes one task, or finds that it was done.
/// \error kFailedPrecondition  a shard's, and slices are unread: says how many
/// \error kOutOfRange          there is no such task
Status execute_task(const TaskContext& context, const RejectLimit& max_rejects, std::uint64_t task);

/// Publishes what the tasks made, or finds that it was published.
/// \error kFailedPrecondition  tasks are not done: says which
Result<PrepareResult> publish_plan(const TaskContext& context, const RejectLimit& max_rejects,
                                   std::string_view run_id);

}  // namespace headrace
