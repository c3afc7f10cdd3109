#include "headrace/prepare/execute/shared_plan.h"

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

Result<PrepareResult> publish_tasks(const TaskContext& context, const RejectLimit& max_rejects,
                                    std::string_view run_id) {
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
  return publish(context, *state.arrangement, receipts, max_rejects, run_id);
}

std::string value_of(const Configuration& configuration, const std::string& key) {
  const auto found = configuration.find(key);
  return found == configuration.end() ? std::string() : found->second;
}

}  // namespace

Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite) {
  const Configuration configuration = plan_configuration(plan);
  if (overwrite) HEADRACE_CHECK(remove_work(output));
  HEADRACE_CHECK(begin_output(output, plan, overwrite));
  const Location work = work_folder(output, configuration_digest(configuration));
  HEADRACE_CHECK(write_pasts(plan, work));  // whoever finds the slices finds these
  const Location slices = work.at(kSlices);
  HEADRACE_CHECK(write_text(*slices.store, slices.key, slices_to_json(plan.input)));
  return {};
}

Result<bool> was_appended(const Location& output, const PreparePlan& plan) {
  HEADRACE_TRY(const Configuration before, read_configuration(output.at(kPlanKey)));
  const bool made_the_base = configuration_digest(before) == plan.base->manifest.plan;
  return made_the_base &&
         value_of(before, kContinuesKey).starts_with(continuation_name(Continuation::kAppend)) &&
         value_of(before, "input") == plan.input.url &&
         value_of(before, "input version") == plan.input.version;
}

Status check_continuation(const Location& output, const PreparePlan& plan) {
  const Location claim = output.at(kPlanKey);
  HEADRACE_TRY(const Configuration before, read_configuration(claim));
  const Configuration now = plan_configuration(plan);
  if (value_of(before, kContinuesKey) != value_of(now, kContinuesKey)) return {};
  Status same = check_configuration(claim, now);
  if (same) return same;
  return Error{same.error().code,
               concat(same.error().message, ". Or begin this one anew with headrace plan --append")};
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
      return parse_plan(*configuration, {}, output);
    return Error{Code::kNotFound, concat("the plan at ", output.describe(),
                                         " was not made for others; headrace plan FROM TO does that")};
  }
  if (!read) return std::move(read).error();
  auto parsed = parse_slices(as_text(read->data));
  if (!parsed) return std::move(parsed).error().in(slices.describe());
  return parse_plan(*configuration, *std::move(parsed), output);
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

Status execute_tasks(const TaskContext& context, const RejectLimit& max_rejects,
                     std::span<const std::uint64_t> tasks) {
  const std::uint64_t read_tasks = context.plan.input.slices.size();
  std::optional<PlanState> state;
  for (const std::uint64_t task : tasks) {
    if (task < read_tasks) {
      HEADRACE_CHECK(extract_slice(context, task, [](std::uint64_t) {}));
      continue;
    }
    if (!state || !state->arrangement) {
      HEADRACE_TRY(state, look_at_plan(context, max_rejects));
    }
    if (!state->arrangement) return unread_slices(*state);
    const std::vector<ShardTask> shards = state->arrangement->tasks();
    if (task - read_tasks >= shards.size()) {
      return Error{Code::kOutOfRange,
                   concat("there is no task ", task, "; the last one is ", read_tasks + shards.size() - 1)};
    }
    HEADRACE_CHECK(write_if_absent(context, *state->arrangement, shards[task - read_tasks]));
  }
  return {};
}

Status write_if_absent(const TaskContext& context, const Arrangement& arrangement, const ShardTask& shard) {
  HEADRACE_TRY(const std::optional<ShardReceipt> done, find_shard(context, shard));
  if (!done) HEADRACE_CHECK(write_shard(context, arrangement, shard));
  return {};
}

Status unless_published(const TaskContext& context, Status done) {
  if (done || done.error().code == Code::kCancelled) return done;
  const auto published = find_published(context);
  return published && *published ? Status() : done;
}

Result<PrepareResult> publish_plan(const TaskContext& context, const RejectLimit& max_rejects,
                                   std::string_view run_id) {
  HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
  if (published) return *std::move(published);
  auto made = publish_tasks(context, max_rejects, run_id);
  if (made || made.error().code == Code::kCancelled) return made;
  auto other = find_published(context);
  if (!other && made.error().code == Code::kAlreadyExists) return std::move(other).error();
  return other && *other ? Result(**std::move(other)) : std::move(made);
}

}  // namespace headrace
