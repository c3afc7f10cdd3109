#include "headrace/cli/shared_job.h"

#include <chrono>

#include "headrace/base/text.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {

PlanTasks SharedJob::tasks(StoreRegistry& stores, const std::stop_token& stop) {
  return PlanTasks(
      {planned.plan, digest, planned.encoders, stores, runs, output, {}, stop, planned.map.get()},
      {.others = OtherProcesses::kMayJoin, .max_rejects = max_rejects});
}

std::unique_ptr<SharedJob> make_shared_job(const Location& output, PlannedPrepare planned,
                                           const OptionValues& values) {
  std::string digest = configuration_digest(plan_configuration(planned.plan));
  const RejectLimit limit = reject_limit_of(planned.plan, values);
  const Location work = work_folder(output, digest);
  return std::unique_ptr<SharedJob>(
      new SharedJob{output, std::move(planned), std::move(digest), {work, 0}, limit});
}

Result<std::unique_ptr<SharedJob>> open_shared_job(CommandContext& context, const std::string& url,
                                                   const OptionValues& values) {
  HEADRACE_TRY(Location output, context.stores.open(url));
  output = make_stoppable(std::move(output), context.stop);
  HEADRACE_TRY(PlannedPrepare planned, read_planned(context, output, values));
  return make_shared_job(output, std::move(planned), values);
}

std::unique_ptr<TaskClaims> claim_by_lease(const SharedJob& job, const OptionValues& values) {
  const std::chrono::seconds lease(values.integer("lease"));
  return claim_by_lease(work_folder(job.output, job.digest), hex64(random_name_bits()),
                        {.renewed_each = std::chrono::milliseconds(lease) / 6, .stale_after = lease});
}

Status run_shared_tasks(CommandContext& context, PlanTasks& tasks, TaskClaims& claims, int workers,
                        const OptionValues& values) {
  const TaskRunOptions options{.workers = workers,
                               .patience = std::chrono::seconds(values.integer("patience"))};
  return run_tasks(tasks, claims, options, progress_on(context.console));
}

PrepareProgress progress_on(Console& console) {
  return [&console](const PrepareState& state) {
    const std::string aside = state.rejected == 0 ? "" : concat(state.rejected, " rejected");
    console.progress(state.stage, state.done, state.total, state.unit, aside);
  };
}

}  // namespace headrace
