#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/dry_run.h"
#include "headrace/cli/prepare_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/prepare/execute/shared_job.h"
#include "headrace/prepare/execute/shared_plan.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

constexpr Positional kPlanPositionals[] = {
    {.name = "FROM", .sentence = "Raw data in any store, as for headrace prepare."},
    {.name = "TO", .sentence = "Folder for the dataset, in a store that all machines reach."},
};
constexpr Positional kSharedPositionals[] = {
    {.name = "TO", .sentence = "The folder for which headrace plan was run."},
};

constexpr Option kExecuteOptions[] = {
    {.name = "task",
     .type = OptionType::kTextList,
     .unit = "numbers",
     .sentence = "Execute only this task, or this range of tasks (3-9). With --json, a failure is printed "
                 "with its code."},
    {.name = "list",
     .type = OptionType::kFlag,
     .sentence = "Execute nothing; print the number of tasks, and the tasks that are not done."},
    {.name = "rank",
     .type = OptionType::kInteger,
     .unit = "number",
     .sentence = "Execute every --world-size-th task, starting with this number, and wait for the other "
                 "ranks. Without --task and --rank: execute all tasks that no other process has a lease for.",
     .minimum = 0},
    {.name = "world-size",
     .type = OptionType::kInteger,
     .unit = "processes",
     .sentence = "With --rank: the number of processes.",
     .minimum = 1},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "1",
     .unit = "threads",
     .sentence = "Number of tasks that this process runs at once.",
     .minimum = 1,
     .maximum = 1024},
    kLeaseOption,
    kPatienceOption,
    kMapTimeoutOption,
    kMaxRejectsOption,
    kEncoderWeightsOption,
};

constexpr Option kPublishOptions[] = {kMaxRejectsOption, kEncoderWeightsOption, kTrackOption, kRunIdOption};

// Parses texts such as "3" and "3-9".
Result<std::vector<std::uint64_t>> parse_tasks(const std::vector<std::string>& texts) {
  constexpr std::size_t kTasksMax = 1'000'000;
  std::vector<std::uint64_t> out;
  for (const std::string& text : texts) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = parse_number<std::uint64_t>(text.substr(0, dash));
    const auto last = dash == text.size() ? first : parse_number<std::uint64_t>(text.substr(dash + 1));
    if (!first || !last || *first > *last || *last - *first >= kTasksMax - out.size())
      return Error{Code::kInvalidArgument,
                   concat("--task must be a number, or a range such as 3-9; it is ", text)};
    for (std::uint64_t task = *first; task <= *last; ++task) out.push_back(task);
  }
  return out;
}

Status check_execute_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  const auto wrong = [](std::string_view what) { return Error{Code::kInvalidArgument, std::string(what)}; };
  if (values.has("rank") != values.has("world-size")) return wrong("--rank and --world-size go together");
  if (values.flag("list") + values.has("task") + values.has("rank") > 1)
    return wrong("--list, --task and --rank exclude each other");
  if (values.has("task")) HEADRACE_CHECK(parse_tasks(values.list("task")));
  if (values.has("rank") && values.integer("rank") >= values.integer("world-size"))
    return wrong("--rank counts from 0, so it must be less than --world-size");
  return {};
}

Status check_publish_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  return {};
}

Status run_plan(CommandContext& context, const std::vector<std::string>& arguments,
                const OptionValues& values) {
  HEADRACE_TRY(const InputPlace input, open_input_place(arguments[0], context.stores));
  HEADRACE_TRY(const Location output, context.stores.open(arguments[1]));
  HEADRACE_CHECK(check_places(input, output));
  HEADRACE_TRY(const PlannedPrepare planned, plan_from(context, input, output, values));
  HEADRACE_CHECK(check_staged_rows(planned.plan.input, output));
  if (values.flag("print-schema")) {
    context.console.result(schema_to_toml(planned.plan.schema));
    return {};
  }
  if (values.flag("dry-run")) return show_dry_run(context, planned, values);
  HEADRACE_TRY(const PlanClaim claim, examine_plan_output(output, planned.plan, values.flag("overwrite")));
  if (claim.published > 0) {
    context.console.result(concat(output.describe(), " was published before with this plan; nothing to do"));
    return {};
  }
  const Actor actor = this_process("plan", "", context.environment.now());
  HEADRACE_CHECK(share_plan(planned.plan, output, values.flag("overwrite"), actor));
  const std::size_t slices = planned.plan.input.slices.size();
  if (context.console.json()) {
    const Json document = {
        {"url", output.url.text()},
        {"plan", configuration_digest(plan_configuration(planned.plan))},
        {"read_tasks", slices},
        {"input", {{"objects", planned.plan.input.objects}, {"size_bytes", planned.plan.input.size_bytes}}}};
    context.console.result(document.dump());
    return {};
  }
  context.console.result(
      concat(output.describe(), " is planned: ", slices, " tasks that read ", planned.plan.input.objects,
             " objects, ", format_size(planned.plan.input.size_bytes), "; then tasks that write shards"));
  context.console.note(concat("execute them, on any number of machines: headrace execute ", output.url.text(),
                              "\nthen: headrace publish ", output.url.text()));
  return {};
}

Result<std::unique_ptr<SharedJob>> open_job(CommandContext& context, const std::string& url,
                                            const OptionValues& values) {
  HEADRACE_TRY(Location output, context.stores.open(url));
  output = make_stoppable(std::move(output), context.stop);
  return open_shared_job(output, encoder_sources_from(context, values));
}

// Lists the tasks for adapters of engines.
Status list_tasks(CommandContext& context, PlanTasks& tasks) {
  HEADRACE_TRY(const std::optional<PrepareResult> published, find_published(tasks.context()));
  std::vector<std::uint64_t> unread, undone;
  std::optional<std::size_t> write_tasks;
  if (!published) {
    HEADRACE_TRY(unread, tasks.unread());
  }
  if (!published && unread.empty()) {
    HEADRACE_TRY(const Arrangement* const arrangement, tasks.arrange());
    HEADRACE_TRY(undone, tasks.unwritten());
    for (std::uint64_t& task : undone) task += tasks.read_tasks();
    write_tasks = arrangement->tasks().size();
  }
  const std::uint64_t read_tasks = published ? 0 : tasks.read_tasks();
  if (context.console.json()) {
    const Json document = {{"published", published.has_value()},
                           {"read_tasks", read_tasks},
                           {"unread", unread},
                           {"write_tasks", write_tasks ? Json(*write_tasks) : Json()},
                           {"undone", undone}};
    context.console.result(document.dump());
  } else if (published) {
    context.console.result(concat(tasks.context().output.describe(), " is published: no task is left"));
  } else {
    context.console.result(
        concat(read_tasks - unread.size(), " of ", read_tasks, " tasks that read are done"));
    if (write_tasks) {
      context.console.result(
          concat(*write_tasks - undone.size(), " of ", *write_tasks, " tasks that write are done"));
    }
  }
  return {};
}

Status execute_named(CommandContext& context, PlanTasks& tasks, const std::vector<std::string>& names) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, parse_tasks(names));
  Status done;
  for (std::size_t i = 0; done && i < numbers.size(); ++i) done = tasks.execute(numbers[i]);
  done = tasks.unless_published(std::move(done));
  if (!done && context.console.json()) {
    const Json document = {
        {"error", {{"code", code_name(done.error().code)}, {"message", done.error().message}}}};
    context.console.result(document.dump());
  }
  return done;
}

Status run_execute(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(const std::unique_ptr<SharedJob> job, open_job(context, arguments[0], values));
  if (!values.flag("list")) {
    HEADRACE_TRY(job->planned.map, make_map_pool(job->planned.plan, planning_context(context, values)));
  }
  PlanTasks tasks = job->tasks(max_rejects_from(values), {}, context.stores, context.stop);
  if (values.flag("list")) return list_tasks(context, tasks);
  if (values.has("task")) return execute_named(context, tasks, values.list("task"));
  const std::unique_ptr<TaskClaims> claims =
      values.has("rank")
          ? claim_by_rank(static_cast<std::uint64_t>(values.integer("rank")),
                          static_cast<std::uint64_t>(values.integer("world-size")))
          : claim_by_lease(tasks.context().work_folder(), hex64(random_name_bits()), lease_from(values));
  return run_tasks(tasks, *claims,
                   {.workers = static_cast<int>(values.integer("workers")),
                    .patience = std::chrono::seconds(values.integer("patience"))},
                   progress_on(context.console));
}

Status run_publish(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(const std::unique_ptr<SharedJob> job, open_job(context, arguments[0], values));
  return record_run(
      context, "prepare", job->output, values, [&](RunRecorder& recorder, RunEnd& end) -> Status {
        HEADRACE_TRY(const InputPlace input, open_input_place(job->planned.plan.input.url, context.stores));
        HEADRACE_CHECK(add_prepare_input(recorder, input));
        PlanTasks tasks = job->tasks(max_rejects_from(values), actor_of(context, "publish", recorder),
                                     context.stores, context.stop);
        HEADRACE_TRY(const PrepareResult result, tasks.publish());
        end.counts = result.attributes.counts;
        end.counts["shards"] = result.shards;
        HEADRACE_CHECK(recorder.add_output("dataset", job->output));
        show_prepared(context.console, job->output, result, 0);
        return {};
      });
}

}  // namespace

extern const Command kPlanCommand;
const Command kPlanCommand = {
    .name = "plan",
    .summary = "Plan the preparation of a dataset by several processes or machines",
    .details =
        "Reads FROM as headrace prepare does, and writes the plan for headrace execute to TO. Any processes "
        "may execute it, any number of times; the result has the same bytes as headrace prepare.\n"
        "\n"
        "  headrace plan s3://raw/images.csv s3://datasets/images --schema images.toml\n"
        "  headrace execute s3://datasets/images       # on any number of machines\n"
        "  headrace publish s3://datasets/images",
    .positionals = kPlanPositionals,
    .options = kPrepareOptions,
    .run = run_plan,
    .check = check_prepare_options};

extern const Command kExecuteCommand;
const Command kExecuteCommand = {
    .name = "execute",
    .summary = "Execute tasks of a plan, with other processes or alone",
    .details =
        "Without --task and --rank, processes share the tasks by leases: objects below TO that they renew. "
        "If a process is killed, its leases expire after a minute, and the others take over. Ends when all "
        "tasks are done.\n"
        "\n"
        "  headrace execute s3://datasets/images\n"
        "  headrace execute s3://datasets/images --rank $RANK --world-size $WORLD_SIZE\n"
        "  headrace execute s3://datasets/images --task 17 --task 20-29",
    .positionals = kSharedPositionals,
    .options = kExecuteOptions,
    .run = run_execute,
    .check = check_execute_options};

extern const Command kPublishCommand;
const Command kPublishCommand = {.name = "publish",
                                 .summary = "Publish the dataset that the tasks of a plan have written",
                                 .details =
                                     "Compares the counts of rows read and written, and publishes the "
                                     "dataset. If a task is missing, the command names it.\n"
                                     "\n"
                                     "  headrace publish s3://datasets/images",
                                 .positionals = kSharedPositionals,
                                 .options = kPublishOptions,
                                 .run = run_publish,
                                 .check = check_publish_options};

}  // namespace headrace
