#include "headrace/prepare/shared_plan.h"

#include "headrace/base/text.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kSlices = "slices";
constexpr std::uint64_t kSlicesLimitBytes = 256 << 20;

Error unread_slices(const PlanState& state) {
  return {Code::kFailedPrecondition, concat(state.unread.size(), " of ", state.read_tasks,
                                            " slices are not read yet, the first of them ",
                                            state.unread.front(), ": execute these tasks first")};
}

}  // namespace

Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite) {
  const Configuration configuration = plan_configuration(plan);
  if (overwrite) HEADRACE_CHECK(remove_work(output));
  HEADRACE_CHECK(claim_output(output, prepare_output(), configuration, overwrite));
  const Location slices = work_folder(output, configuration_digest(configuration)).at(kSlices);
  HEADRACE_CHECK(write_text(*slices.store, slices.key, slices_to_json(plan.input)));
  return {};
}

Result<PreparePlan> read_shared_plan(const Location& output) {
  const Location claim = output.at(kPlanKey);
  auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) {
    return Error{Code::kNotFound,
                 concat("no plan lies at ", output.describe(), "; make one with headrace plan FROM TO")};
  }
  if (!configuration) return std::move(configuration).error();
  const Location slices = work_folder(output, configuration_digest(*configuration)).at(kSlices);
  auto read = read_object(*slices.store, slices.key, kSlicesLimitBytes);
  if (!read && read.error().code == Code::kNotFound) {
    HEADRACE_TRY(const std::optional<PublishedFolder> latest, read_published(output));
    if (latest && latest->manifest.plan == configuration_digest(*configuration))
      return parse_plan(*configuration, {});
    return Error{Code::kNotFound, concat("the plan at ", output.describe(),
                                         " was not made for others; headrace plan FROM TO does that")};
  }
  if (!read) return std::move(read).error();
  auto parsed = parse_slices(as_text(read->data));
  if (!parsed) return std::move(parsed).error().in(slices.describe());
  return parse_plan(*configuration, *std::move(parsed));
}

Result<PlanState> look_at_plan(const TaskContext& context, const RejectLimit& max_rejects) {
  PlanState state{.read_tasks = context.plan.input.slices.size()};
  HEADRACE_TRY(state.unread, unread_slices_of(context));
  if (!state.unread.empty()) return state;
  std::vector<SliceReceipt> receipts;
  for (std::uint64_t slice = 0; slice < state.read_tasks; ++slice) {
    HEADRACE_TRY(std::optional<SliceReceipt> receipt, find_slice(context, slice));
    if (!receipt) {
      return Error{Code::kAborted, concat("the receipt of slice ", slice,
                                          " went away: the data set was published or begun anew meanwhile")};
    }
    receipts.push_back(*std::move(receipt));
  }
  HEADRACE_TRY(state.arrangement, arrange(context, receipts, max_rejects));
  return state;
}

Status execute_task(const TaskContext& context, const RejectLimit& max_rejects, std::uint64_t task) {
  const std::uint64_t read_tasks = context.plan.input.slices.size();
  if (task < read_tasks) {
    HEADRACE_CHECK(extract_slice(context, task, [](std::uint64_t) {}));
    return {};
  }
  HEADRACE_TRY(const PlanState state, look_at_plan(context, max_rejects));
  if (!state.arrangement) return unread_slices(state);
  const std::vector<ShardTask> tasks = state.arrangement->tasks();
  if (task - read_tasks >= tasks.size()) {
    return Error{Code::kOutOfRange,
                 concat("there is no task ", task, "; the last one is ", read_tasks + tasks.size() - 1)};
  }
  const ShardTask& shard = tasks[task - read_tasks];
  HEADRACE_TRY(const std::optional<ShardReceipt> done, find_shard(context, shard));
  if (done) return {};
  HEADRACE_CHECK(write_shard(context, *state.arrangement, shard));
  return {};
}

Result<PrepareResult> publish_plan(const TaskContext& context, const RejectLimit& max_rejects,
                                   std::string_view run_id) {
  HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
  if (published) return *std::move(published);
  HEADRACE_TRY(const PlanState state, look_at_plan(context, max_rejects));
  if (!state.arrangement) return unread_slices(state);
  std::vector<ShardReceipt> receipts;
  const std::vector<ShardTask> tasks = state.arrangement->tasks();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    HEADRACE_TRY(std::optional<ShardReceipt> receipt, find_shard(context, tasks[i]));
    if (!receipt) {
      return Error{Code::kFailedPrecondition,
                   concat("task ", state.read_tasks + i, " of ", state.read_tasks + tasks.size(),
                          " is not done yet; ", "headrace execute --task does it")};
    }
    receipts.push_back(*std::move(receipt));
  }
  auto made = publish(context, *state.arrangement, receipts, max_rejects, run_id);
  if (made || made.error().code != Code::kAlreadyExists) return made;
  HEADRACE_TRY(std::optional<PrepareResult> other, find_published(context));
  return other ? Result(*std::move(other)) : std::move(made);
}

}  // namespace headrace
