#pragma once

/// \file A plan that several processes execute, as one of them works on it: what `execute`, `publish` and
/// `prepare --runner` have in common.

#include <memory>
#include <string>

#include "headrace/cli/command.h"
#include "headrace/cli/prepare_options.h"
#include "headrace/prepare/execute/task_runner.h"
#include "headrace/prepare/sort/run_store.h"

namespace headrace {

inline constexpr Option kLeaseOption = {
    .name = "lease",
    .type = OptionType::kInteger,
    .default_value = "60",
    .unit = "seconds",
    .sentence =
        "How long a lease must stand still before others take the task over; renewed six times as often.",
    .minimum = 1,
    .maximum = 86'400};

inline constexpr Option kPatienceOption = {
    .name = "patience",
    .type = OptionType::kInteger,
    .default_value = "600",
    .unit = "seconds",
    .sentence = "How long to wait for others of whose tasks none gets done.",
    .minimum = 1,
    .maximum = 31'536'000};

/// Every run of rows becomes a work object, for the others.
struct SharedJob {
  Location output;
  PlannedPrepare planned;
  std::string digest;
  RunStore runs;
  RejectLimit max_rejects;

  PlanTasks tasks(StoreRegistry& stores, const std::stop_token& stop);
};

/// `values` has `max-rejects`.
std::unique_ptr<SharedJob> make_shared_job(const Location& output, PlannedPrepare planned,
                                           const OptionValues& values);

/// Of the plan that lies at a URL. `values` has `max-rejects`, and may have `encoder-weights`.
Result<std::unique_ptr<SharedJob>> open_shared_job(CommandContext& context, const std::string& url,
                                                   const OptionValues& values);

/// `values` has `lease`.
std::unique_ptr<TaskClaims> claim_by_lease(const SharedJob& job, const OptionValues& values);

/// Runs tasks until all are done, with progress on the console. `values` has `patience`.
Status run_shared_tasks(CommandContext& context, PlanTasks& tasks, TaskClaims& claims, int workers,
                        const OptionValues& values);

/// Shows how far tasks are.
PrepareProgress progress_on(Console& console);

}  // namespace headrace
