#include "headrace/prepare/execute/prepare.h"

#include <chrono>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/dry_run.h"
#include "headrace/cli/job_manifests.h"
#include "headrace/cli/prepare_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/runners.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr Positional kPreparePositionals[] = {
    {.name = "FROM",
     .sentence =
         "Raw data in any store: a folder, an archive, a table, records; or a pattern of such files."},
    {.name = "TO", .sentence = "Folder for the dataset."},
};

constexpr auto kAllPrepareOptions = joined(kPrepareOptions, kRunnerOptions);

Status check_prepare(const OptionValues& values) {
  HEADRACE_CHECK(check_prepare_options(values));
  return check_runner_options(values);
}

Status run_prepare(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  if (values.has("print-manifest")) {
    HEADRACE_TRY(const std::string manifest, job_manifest(arguments[0], arguments[1], values));
    context.console.result(manifest);
    return {};
  }
  HEADRACE_TRY(InputPlace input, open_input_place(arguments[0], context.stores));
  HEADRACE_TRY(const Location output, context.stores.open(arguments[1]));
  if (input.location) input.location = make_stoppable(*std::move(input.location), context.stop);
  HEADRACE_CHECK(check_places(input, output));
  HEADRACE_TRY(const PlannedPrepare planned, plan_from(context, input, output, values));
  HEADRACE_CHECK(check_staged_rows(planned.plan.input, output));
  if (values.flag("print-schema")) {
    context.console.result(schema_to_toml(planned.plan.schema));
    return {};
  }
  if (values.flag("dry-run")) return show_dry_run(context, planned, values);
  HEADRACE_TRY(const PrepareOptions options, prepare_options_from(context, values));
  const auto body = [&](RunRecorder& recorder, RunEnd& end) -> Status {
    HEADRACE_CHECK(add_prepare_input(recorder, input));
    const auto start = std::chrono::steady_clock::now();
    HEADRACE_TRY(const PrepareResult result,
                 prepare(planned, context.stores, make_stoppable(output, context.stop), options,
                         actor_of(context, "prepare", recorder), progress_on(context.console), context.stop));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (const auto& [name, digest] : planned.plan.encoder_digests)
      end.versions["encoder"] = concat(name, " ", digest);
    end.counts = result.attributes.counts;
    end.counts["shards"] = result.shards;
    HEADRACE_CHECK(recorder.add_output("dataset", output));
    show_prepared(context.console, output, result, seconds.count());
    return {};
  };
  return record_run(context, "prepare", output, values, body,
                    {.rank = options.rank,
                     .ranks = options.world_size,
                     .continues_earlier = options.runner.kind != Runner::Kind::kStore});
}

}  // namespace

void show_prepared(Console& console, const Location& output, const PrepareResult& result, double seconds) {
  const DatasetAttributes& attributes = result.attributes;
  if (console.json()) {
    Json document = parse_json(dataset_attributes_to_json(attributes)).value_or(Json());
    document["url"] = output.url.text();
    document["manifest"] = result.manifest_number;
    document["manifest_digest"] = result.manifest_digest;
    document["shards"] = result.shards;
    document["shards_done_before"] = result.shards_done_before;
    document["row_bytes"] = result.row_bytes;
    document["shard_bytes"] = result.shard_bytes;
    document["was_published"] = result.was_published;
    document["seconds"] = seconds;
    console.result(document.dump());
    return;
  }
  console.result(concat(output.describe(),
                        result.was_published ? " was published before; nothing to do" : " is published"));
  for (const auto& [name, split] : attributes.splits) {
    std::string labels;
    for (const auto& [label, count] : split.labels)
      labels += concat(labels.empty() ? " (" : ", ", count, " ", label);
    console.result(concat("  ", name, ": ", split.records, " records", labels, labels.empty() ? "" : ")"));
  }
  std::string counts;
  for (const char* name : {"in", "written", "rejected", "dropped", "ignored"}) {
    counts += concat(counts.empty() ? "" : ", ", attributes.counts.at(name), " ", name);
  }
  console.result(concat("  ", counts));
  for (const auto& [reason, count] : attributes.reasons) console.result(concat("    ", count, " ", reason));
  console.result(concat("  ", result.shards, " shards, ", format_size(result.shard_bytes)));
}

extern const Command kPrepareCommand;
const Command kPrepareCommand = {
    .name = "prepare",
    .summary = "Turn raw data into shuffled TFRecord shards",
    .details =
        "Reads folders of texts or images, archives, tables, JSON Lines, WebDataset tars or records, and "
        "writes shuffled TFRecord shards, which a manifest publishes at the end. If it is killed or stopped, "
        "the same command continues. The bytes depend only on the input, the schema and the seed, not on "
        "workers.\n"
        "\n"
        "  headrace prepare aclImdb_v1.tar.gz s3://datasets/reviews --encoder hash:512\n"
        "  headrace prepare s3://raw/catsdogs s3://datasets/catsdogs --resize 150x150 \\\n      --split "
        "train=0.8,validation=0.1,test=0.1\n"
        "  headrace prepare s3://raw/images.csv s3://datasets/images --schema images.toml\n"
        "  headrace prepare s3://raw/images.csv s3://datasets/images --runner store   # on any machines\n"
        "  headrace inspect s3://datasets/reviews",
    .positionals = kPreparePositionals,
    .options = kAllPrepareOptions,
    .run = run_prepare,
    .check = check_prepare};

}  // namespace headrace
