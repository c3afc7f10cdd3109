#include "headrace/prepare/execute/shared_job.h"

#include "headrace/prepare/execute/prepare.h"
#include "headrace/prepare/execute/shared_plan.h"

namespace headrace {

PlanTasks SharedJob::tasks(const RejectLimit& max_rejects, const Actor& actor, StoreRegistry& stores,
                           const std::stop_token& stop) {
  TaskContext context{planned.plan, digest, planned.encoders, stores, spills, output,
                      {},           stop,   planned.map.get()};
  context.generation = owned.generation();
  PlanTasksOptions options;
  options.others = OtherProcesses::kMayJoin;
  options.max_rejects = reject_limit_of(planned.plan, max_rejects);
  options.actor = actor;
  options.owned = owned;
  return PlanTasks(context, options);
}

Result<std::unique_ptr<SharedJob>> open_shared_job(const Location& output, const EncoderSources& encoders) {
  PlannedPrepare planned;
  HEADRACE_TRY(SharedPlan shared, read_shared_plan(output));
  planned.plan = std::move(shared.plan);
  HEADRACE_TRY(planned.encoders, make_encoders(planned.plan.schema, encoders));
  HEADRACE_CHECK(check_encoders(planned.plan, planned.encoders));
  std::string digest = configuration_digest(plan_configuration(planned.plan));
  const Location work = work_folder(output, name_tag(digest, shared.owned.generation()));
  return std::unique_ptr<SharedJob>(
      new SharedJob{output, std::move(planned), std::move(digest), std::move(shared.owned), {work, 0}});
}

}  // namespace headrace
