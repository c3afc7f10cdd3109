#include "headrace/prepare/execute/prepare.h"

#include <utility>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/prepare/execute/shared_plan.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

// Whether the same command with --append could continue the published dataset: the plan differs from the
// dataset's plan only by new input, or because the dataset was continued.
Result<bool> can_append(const Location& output, const PreparePlan& plan, StoreRegistry& stores) {
  HEADRACE_TRY(PreparePlan repeated, continue_plan(output, Continuation::kAppend));
  const std::shared_ptr<const BaseDataset> base = std::exchange(repeated.base, nullptr);
  repeated.continuation = Continuation::kNone;
  repeated.input = plan.input;
  if (plan_configuration(repeated) != plan_configuration(plan)) return false;
  HEADRACE_TRY(const ChainState chain, read_chain(output));
  HEADRACE_TRY(const InputPlace place, open_input_place(plan.input.url, stores));
  HEADRACE_TRY(const auto match, compare_with_base(plan.input, place, *base, output));
  if (match == KnownInputs::Match::kSame) return chain.owner.action == OwnershipAction::kContinue;
  return match == KnownInputs::Match::kNew;
}

Result<PlanClaim> examine(const Location& output, const PreparePlan& plan, StoreRegistry& stores,
                          bool overwrite) {
  auto claim = examine_plan_output(output, plan, overwrite);
  if (claim || plan.base != nullptr || claim.error().code != Code::kFailedPrecondition) return claim;
  if (!can_append(output, plan, stores).value_or(false)) return claim;
  return Error{Code::kFailedPrecondition,
               concat(claim.error().message, ". To add new input to the dataset, use --append")};
}

// Whether an append that several processes share has nothing left to do.
Result<bool> is_nothing_new(const Location& output, const PreparePlan& plan, const Runner& runner) {
  if (!runner.is_joined() || plan.base == nullptr) return false;
  HEADRACE_TRY(const bool nothing_is_new, was_appended(output, plan));
  if (!nothing_is_new) HEADRACE_CHECK(check_continuation(output, plan));
  return nothing_is_new;
}

std::unique_ptr<TaskClaims> claims_of(const TaskContext& context, const PrepareOptions& options) {
  if (options.runner.kind == Runner::Kind::kStore)
    return claim_by_lease(context.work_folder(), hex64(random_name_bits()), options.lease);
  return claim_by_rank(options.rank, options.world_size);  // a process that is alone has rank 0 of 1
}

}  // namespace

RejectLimit reject_limit_of(const PreparePlan& plan, const RejectLimit& max_rejects) {
  return plan.retries() ? RejectLimit{.share = 1} : max_rejects;
}

Status check_places(const InputPlace& input, const Location& output) {
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(output.describe(), " is the root of a store; name a folder in it")};
  if (!input.location) return {};
  const bool one_store = input.url.scheme == output.url.scheme &&
                         input.url.authority == output.url.authority && input.url.query == output.url.query;
  const std::string& key = input.location->key;
  const bool is_in = key == output.key || output.key.starts_with(folder_prefix(key));
  if (!one_store || !is_in) return {};
  return Error{Code::kInvalidArgument,
               concat("the output ", output.describe(), " lies in the input ", input.describe(),
                      ", so the next command would read it as input; name a folder beside the input")};
}

Result<PrepareResult> prepare(const PlannedPrepare& planned, StoreRegistry& stores, const Location& output,
                              const PrepareOptions& options, const Actor& actor,
                              const PrepareProgress& progress, const std::stop_token& stop) {
  const PreparePlan& plan = planned.plan;
  const std::string digest = configuration_digest(plan_configuration(plan));
  const bool is_alone = options.runner.kind == Runner::Kind::kLocal;
  HEADRACE_TRY(PlanClaim claim, examine(output, plan, stores, options.overwrite));
  SpillStore spills(work_folder(output, name_tag(digest, claim.generation)),
                    is_alone ? options.memory_bytes : 0);
  TaskContext context{plan, digest, planned.encoders, stores, spills, output, {}, stop, planned.map.get()};
  context.generation = claim.generation;
  if (claim.published > 0) {
    context.entry = claim.seen.chain.entry;
    return read_result(context, claim.published);
  }
  PlanTasksOptions with{.others = is_alone ? OtherProcesses::kNone : OtherProcesses::kMayJoin,
                        .max_rejects = reject_limit_of(plan, options.max_rejects),
                        .actor = actor};
  if (is_alone) {
    with.claim = std::move(claim);
  } else {
    HEADRACE_TRY(const bool nothing_is_new, is_nothing_new(output, plan, options.runner));
    if (nothing_is_new) return leave_base(context);
    HEADRACE_TRY(with.owned, share_plan(plan, output, options.overwrite, actor));
    context.generation = with.owned->generation();
  }
  PlanTasks tasks(context, with);
  if (options.runner.is_engine()) {
    HEADRACE_CHECK(run_engine(tasks, options.runner, options.engine, progress));
  } else {
    const std::unique_ptr<TaskClaims> claims = claims_of(tasks.context(), options);
    const int workers = options.runner.threads > 0 ? options.runner.threads : options.workers;
    HEADRACE_CHECK(run_tasks(tasks, *claims, {.workers = workers, .patience = options.patience}, progress));
  }
  return tasks.publish();
}

}  // namespace headrace
