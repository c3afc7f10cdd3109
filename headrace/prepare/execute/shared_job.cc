#include "headrace/prepare/execute/shared_job.h"

#include "headrace/prepare/execute/prepare.h"
#include "headrace/prepare/execute/shared_plan.h"

namespace headrace {

PlanTasks SharedJob::tasks(const RejectLimit& max_rejects, StoreRegistry& stores,
                           const std::stop_token& stop) {
  return PlanTasks(
      {planned.plan, digest, planned.encoders, stores, spills, output, {}, stop, planned.map.get()},
      {.others = OtherProcesses::kMayJoin, .max_rejects = reject_limit_of(planned.plan, max_rejects)});
}

Result<std::unique_ptr<SharedJob>> open_shared_job(const Location& output, const EncoderSources& encoders) {
  PlannedPrepare planned;
  HEADRACE_TRY(planned.plan, read_shared_plan(output));
  HEADRACE_TRY(planned.encoders, make_encoders(planned.plan.schema, encoders));
  HEADRACE_CHECK(check_encoders(planned.plan, planned.encoders));
  std::string digest = configuration_digest(plan_configuration(planned.plan));
  const Location work = work_folder(output, digest);
  return std::unique_ptr<SharedJob>(new SharedJob{output, std::move(planned), std::move(digest), {work, 0}});
}

}  // namespace headrace
