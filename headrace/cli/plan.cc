#include <chrono>

#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/prepare_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/prepare/task_runner.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

constexpr Positional kPlanPositionals[] = {
    {.name = "FROM", .sentence = "Raw data in any store, as for headrace prepare."},
    {.name = "TO", .sentence = "Folder that becomes the data set, in a store that all machines reach."},
};
constexpr Positional kSharedPositionals[] = {
    {.name = "TO", .sentence = "The folder for which headrace plan was run."},
};

constexpr Option kExecuteOptions[] = {
    {.name = "task",
     .type = OptionType::kInteger,
     .unit = "number",
     .sentence = "Execute this task and no other.",
     .minimum = 0},
    {.name = "rank",
     .type = OptionType::kInteger,
     .unit = "number",
     .sentence = "Execute every --world-size-th task, from this one on, and wait for the others'. Without "
                 "--task and --rank: whatever no other process has a lease of.",
     .minimum = 0},
    {.name = "world-size",
     .type = OptionType::kInteger,
     .unit = "processes",
     .sentence = "With --rank: how many processes there are.",
     .minimum = 1},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "1",
     .unit = "threads",
     .sentence = "Tasks at once in this process.",
     .minimum = 1,
     .maximum = 1024},
    {.name = "lease",
     .type = OptionType::kInteger,
     .default_value = "60",
     .unit = "seconds",
     .sentence =
         "How long a lease must stand still before others take the task over; renewed six times as often.",
     .minimum = 1,
     .maximum = 86'400},
    {.name = "patience",
     .type = OptionType::kInteger,
     .default_value = "600",
     .unit = "seconds",
     .sentence = "How long to wait for others of whose tasks none gets done.",
     .minimum = 1},
    kMaxRejectsOption,
    kEncoderWeightsOption,
};

constexpr Option kPublishOptions[] = {kMaxRejectsOption, kEncoderWeightsOption, kTrackOption};

Status check_execute_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  const auto wrong = [](std::string_view what) { return Error{Code::kInvalidArgument, std::string(what)}; };
  if (values.has("rank") != values.has("world-size")) return wrong("--rank and --world-size go together");
  if (values.has("task") && values.has("rank")) return wrong("--task and --rank exclude each other");
  if (values.has("rank") && values.integer("rank") >= values.integer("world-size"))
    return wrong("--rank counts from 0, so it must be less than --world-size");
  return {};
}

Status check_publish_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  return {};
}

// A shared plan as this process works on it: every run of rows becomes a work object, for the others.
struct SharedJob {
  Location output;
  PlannedPrepare planned;
  std::string digest;
  RunStore runs;
  RejectLimit max_rejects;

  TaskContext context(CommandContext& command) {
    return {planned.plan, digest, planned.encoders,          command.stores,
            runs,         output, max_rejects.of_one_task(), command.stop};
  }
};

Result<std::unique_ptr<SharedJob>> open_job(CommandContext& context, const std::string& url,
                                            const OptionValues& values) {
  HEADRACE_TRY(Location output, context.stores.open(url));
  output = make_stoppable(std::move(output), context.stop);
  HEADRACE_TRY(PlannedPrepare planned, read_planned(context, output, values));
  std::string digest = configuration_digest(plan_configuration(planned.plan));
  HEADRACE_TRY(const RejectLimit limit, parse_reject_limit(values.text("max-rejects")));
  const Location work = work_folder(output, digest);
  return std::unique_ptr<SharedJob>(
      new SharedJob{output, std::move(planned), std::move(digest), {work, 0}, limit});
}

Status run_plan(CommandContext& context, const std::vector<std::string>& arguments,
                const OptionValues& values) {
  HEADRACE_TRY(const Location input, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location output, context.stores.open(arguments[1]));
  HEADRACE_CHECK(check_places(input, output));
  HEADRACE_TRY(const PlannedPrepare planned, plan_prepare(context, input, values));
  if (values.flag("print-schema")) {
    context.console.result(schema_to_toml(planned.plan.schema));
    return {};
  }
  HEADRACE_CHECK(share_plan(planned.plan, output, values.flag("overwrite")));
  const std::size_t slices = planned.plan.input.slices.size();
  if (context.console.json()) {
    const nlohmann::json document = {
        {"url", output.url.text()},
        {"plan", configuration_digest(plan_configuration(planned.plan))},
        {"read_tasks", slices},
        {"input", {{"objects", planned.plan.input.objects}, {"size_bytes", planned.plan.input.size_bytes}}}};
    context.console.result(document.dump());
    return {};
  }
  context.console.result(
      concat(output.describe(), " is planned: ", slices, " tasks that read ", planned.plan.input.objects,
             " objects, ", format_size(planned.plan.input.size_bytes), "; then those that write shards"));
  context.console.note(concat("execute them, on any number of machines: headrace execute ", output.url.text(),
                              "\nthen: headrace publish ", output.url.text()));
  return {};
}

Status run_execute(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(const std::unique_ptr<SharedJob> job, open_job(context, arguments[0], values));
  const TaskContext tasks = job->context(context);
  if (values.has("task"))
    return execute_task(tasks, job->max_rejects, static_cast<std::uint64_t>(values.integer("task")));
  const TaskRunOptions options{.workers = static_cast<int>(values.integer("workers")),
                               .max_rejects = job->max_rejects,
                               .patience = std::chrono::seconds(values.integer("patience"))};
  const std::chrono::seconds lease(values.integer("lease"));
  const LeaseOptions leases{.renewed_each = std::chrono::milliseconds(lease) / 6, .stale_after = lease};
  const std::unique_ptr<TaskClaims> claims =
      values.has("rank") ? claim_by_rank(static_cast<std::uint64_t>(values.integer("rank")),
                                         static_cast<std::uint64_t>(values.integer("world-size")))
                         : claim_by_lease(tasks.work_folder(), hex64(random_name_bits()), leases);
  return run_tasks(tasks, *claims, options,
                   [&](std::string_view stage, std::uint64_t done, std::uint64_t total) {
                     context.console.progress(stage, done, total, "tasks");
                   });
}

Status run_publish(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(const std::unique_ptr<SharedJob> job, open_job(context, arguments[0], values));
  return record_run(context, "prepare", job->output, values,
                    [&](RunRecorder& recorder, RunEnd& end) -> Status {
                      HEADRACE_TRY(const Location input, context.stores.open(job->planned.plan.input.url));
                      HEADRACE_CHECK(recorder.add_input(input));
                      HEADRACE_TRY(const PrepareResult result,
                                   publish_plan(job->context(context), job->max_rejects, recorder.run_id()));
                      end.counts = result.attributes.counts;
                      end.counts["shards"] = result.shards;
                      HEADRACE_CHECK(recorder.add_output(job->output));
                      show_prepared(context.console, job->output, result, 0);
                      return {};
                    });
}

}  // namespace

extern const Command kPlanCommand;
const Command kPlanCommand = {
    .name = "plan",
    .summary = "Plan preparing, for several processes or machines to execute",
    .details =
        "Looks at FROM as headrace prepare does, and leaves at TO what headrace execute needs: whoever\n"
        "executes it, and however often, makes the same bytes as headrace prepare.\n"
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
        "Without --task and --rank, processes share the tasks by leases, objects below TO that they renew;\n"
        "one that is killed loses its leases after a minute, and others go on. Ends when all is done.\n"
        "\n"
        "  headrace execute s3://datasets/images\n"
        "  headrace execute s3://datasets/images --rank $RANK --world-size $WORLD_SIZE\n"
        "  headrace execute s3://datasets/images --task 17",
    .positionals = kSharedPositionals,
    .options = kExecuteOptions,
    .run = run_execute,
    .check = check_execute_options};

extern const Command kPublishCommand;
const Command kPublishCommand = {
    .name = "publish",
    .summary = "Publish what the tasks of a plan have made",
    .details =
        "Compares what was read with what was written, and publishes the data set. Says which task is\n"
        "missing if one is.\n"
        "\n"
        "  headrace publish s3://datasets/images",
    .positionals = kSharedPositionals,
    .options = kPublishOptions,
    .run = run_publish,
    .check = check_publish_options};

}  // namespace headrace
