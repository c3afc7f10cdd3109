#pragma once

/// \file A plan in a store, whose tasks any number of processes execute. Tasks have numbers: first those
/// that read a slice, then those that write a shard; how many of these is known once all slices are read.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/prepare/write/publish.h"

namespace headrace {

/// Makes the output the plan's own (see claim_output), and leaves there what the others need.
/// \error kFailedPrecondition  another plan was begun there, and not `overwrite`
Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite);

/// Of a plan that appends: whether the latest version of the data set was appended from the very same input,
/// so that nothing is new.
Result<bool> was_appended(const Location& output, const PreparePlan& plan);

/// Whether this process may work at a plan that continues beside others.
/// \error kFailedPrecondition  another plan that continues the same version was begun: names the differences
Status check_continuation(const Location& output, const PreparePlan& plan);

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

/// Executes tasks, one after another, or finds that they were done. One look at the plan serves all of them
/// that write.
/// \error kFailedPrecondition  a shard's, and slices are unread: says how many
/// \error kOutOfRange          there is no such task
Status execute_tasks(const TaskContext& context, const RejectLimit& max_rejects,
                     std::span<const std::uint64_t> tasks);

/// `done`, or success if the data set has been published meanwhile: who publishes removes what others need
/// that are still at it.
Status unless_published(const TaskContext& context, Status done);

/// Writes a shard, or finds that it was written.
Status write_if_absent(const TaskContext& context, const Arrangement& arrangement, const ShardTask& shard);

/// Publishes what the tasks made, or finds that it was published.
/// \error kFailedPrecondition  tasks are not done: says which
Result<PrepareResult> publish_plan(const TaskContext& context, const RejectLimit& max_rejects,
                                   std::string_view run_id);

}  // namespace headrace
