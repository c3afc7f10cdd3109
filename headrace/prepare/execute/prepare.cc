#include "headrace/prepare/execute/prepare.h"

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/prepare/execute/shared_plan.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

Status check_beginning(const Location& output, const Configuration& configuration, bool overwrite) {
  Status allowed = check_output(output, prepare_output(), configuration, overwrite);
  if (allowed || allowed.error().code != Code::kFailedPrecondition) return allowed;
  const auto published = read_published(output, "dataset");
  if (!published || !*published) return allowed;
  return Error{Code::kFailedPrecondition,
               concat(allowed.error().message, ". To add what the input has more: --append")};
}

// The first step: whether it is done already; else the output is free, or the plan's own.
Result<std::optional<PrepareResult>> begin(const PlanTasks& tasks, const PrepareOptions& options) {
  const TaskContext& context = tasks.context();
  const PreparePlan& plan = context.plan;
  const Location& output = context.output;
  if (plan.base == nullptr)
    HEADRACE_CHECK(check_beginning(output, plan_configuration(plan), options.overwrite));
  if (!options.overwrite) {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
    if (published) return published;
  }
  if (tasks.is_alone()) {
    // Work only: what is published stays until the input was read.
    if (options.overwrite) HEADRACE_CHECK(remove_work(output));
    return std::optional<PrepareResult>();
  }
  if (options.runner.is_joined() && plan.base != nullptr) {
    HEADRACE_TRY(const bool nothing_is_new, was_appended(output, plan));
    if (nothing_is_new) {
      HEADRACE_TRY(PrepareResult base, leave_base(context));
      return std::optional(std::move(base));
    }
    HEADRACE_CHECK(check_continuation(output, plan));
  }
  HEADRACE_CHECK(share_plan(plan, output, options.overwrite));
  return std::optional<PrepareResult>();
}

std::unique_ptr<TaskClaims> claims_of(const TaskContext& context, const PrepareOptions& options) {
  if (options.runner.kind == Runner::Kind::kStore)
    return claim_by_lease(context.work_folder(), hex64(random_name_bits()), options.lease);
  return claim_by_rank(options.rank, options.world_size);  // alone: rank 0 of 1
}

}  // namespace

RejectLimit reject_limit_of(const PreparePlan& plan, const RejectLimit& max_rejects) {
  return plan.retries() ? RejectLimit{.share = 1} : max_rejects;
}

Status check_places(const Location& input, const Location& output) {
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(output.describe(), " is the root of a store; name a folder in it")};
  const bool one_store = input.url.scheme == output.url.scheme &&
                         input.url.authority == output.url.authority && input.url.query == output.url.query;
  const bool is_in = input.key == output.key || output.key.starts_with(folder_prefix(input.key));
  if (!one_store || !is_in) return {};
  return Error{Code::kInvalidArgument,
               concat(output.describe(), " lies in ", input.describe(),
                      ", so that it would be part of the input the next time; name a folder beside it")};
}

Result<PrepareResult> prepare(const PlannedPrepare& planned, StoreRegistry& stores, const Location& output,
                              const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop) {
  const PreparePlan& plan = planned.plan;
  const std::string digest = configuration_digest(plan_configuration(plan));
  const bool is_alone = options.runner.kind == Runner::Kind::kLocal;
  SpillStore spills(work_folder(output, digest), is_alone ? options.memory_bytes : 0);
  PlanTasks tasks({plan, digest, planned.encoders, stores, spills, output, {}, stop, planned.map.get()},
                  {.others = is_alone ? OtherProcesses::kNone : OtherProcesses::kMayJoin,
                   .max_rejects = reject_limit_of(plan, options.max_rejects),
                   .overwrite = options.overwrite});
  HEADRACE_TRY(std::optional<PrepareResult> done, begin(tasks, options));
  if (done) return *std::move(done);
  if (options.runner.is_engine()) {
    HEADRACE_CHECK(run_engine(tasks, options.runner, options.engine, progress));
  } else {
    const std::unique_ptr<TaskClaims> claims = claims_of(tasks.context(), options);
    const int workers = options.runner.threads > 0 ? options.runner.threads : options.workers;
    HEADRACE_CHECK(run_tasks(tasks, *claims, {.workers = workers, .patience = options.patience}, progress));
  }
  return tasks.publish(run_id);
}

}  // namespace headrace
