#include "headrace/prepare/execute/prepare.h"

#include "headrace/base/text.h"
#include "headrace/prepare/sort/run_store.h"
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

}  // namespace

Status check_places(const Location& input, const Location& output) {
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(output.describe(), " is the root of a store; name a folder in it")};
  const bool one_store = input.url.scheme == output.url.scheme && input.url.authority == output.url.authority;
  const bool is_in = input.key == output.key || output.key.starts_with(folder_prefix(input.key));
  if (!one_store || !is_in) return {};
  return Error{Code::kInvalidArgument,
               concat(output.describe(), " lies in ", input.describe(),
                      ", so that it would be part of the input the next time; name a folder beside it")};
}

Result<PrepareResult> prepare(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                              const Location& output, const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop) {
  const Configuration configuration = plan_configuration(plan);
  const std::string digest = configuration_digest(configuration);
  RunStore runs(work_folder(output, digest), options.memory_bytes);
  const TaskContext context{plan, digest, encoders, stores, runs, output, {}, stop, options.map};

  if (plan.base == nullptr) HEADRACE_CHECK(check_beginning(output, configuration, options.overwrite));
  if (options.overwrite) {
    // Work only: what is published stays until the input was read.
    HEADRACE_CHECK(remove_work(output));
  } else {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
    if (published) return *std::move(published);
  }
  PlanTasks tasks(context, {.max_rejects = options.max_rejects, .overwrite = options.overwrite});
  const std::unique_ptr<TaskClaims> all = claim_by_rank(0, 1);
  HEADRACE_CHECK(run_tasks(tasks, *all, {.workers = options.workers}, progress));
  return tasks.publish(run_id);
}

}  // namespace headrace
