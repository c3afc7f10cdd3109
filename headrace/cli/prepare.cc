#include "headrace/prepare/prepare.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "FROM",
     .sentence = "Raw texts: a tar, tar.gz, tar.xz, tar.zst or zip archive, or a folder, in any store."},
    {.name = "TO", .sentence = "Folder that becomes the data set."},
};

constexpr Option kOptions[] = {
    {.name = "layout",
     .default_value = "aclimdb",
     .sentence = "How paths tell split and label: aclimdb is <split>/<label>/*.txt.",
     .choices = "aclimdb"},
    kEncoderOption,
    kEncoderWeightsOption,
    {.name = "shard-records",
     .type = OptionType::kInteger,
     .default_value = "500",
     .unit = "records",
     .sentence = "Records in a shard.",
     .minimum = 1,
     .maximum = 10'000'000},
    {.name = "compression",
     .default_value = "gzip",
     .sentence = "Compression of the shards.",
     .choices = "gzip|none"},
    {.name = "compression-level",
     .type = OptionType::kInteger,
     .default_value = "6",
     .sentence = "1 is fastest, 12 is smallest.",
     .minimum = 1,
     .maximum = 12},
    {.name = "seed",
     .type = OptionType::kInteger,
     .default_value = "44",
     .sentence = "Decides the order of the records.",
     .minimum = 0},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that encode and write; 0: one for each core. The result does not depend on it.",
     .minimum = 0,
     .maximum = 1024},
    {.name = "no-text",
     .type = OptionType::kFlag,
     .sentence = "Leave the features text and id out of the records."},
    {.name = "duplicates",
     .default_value = "report",
     .sentence = "What to do with equal texts: report keeps all, drop keeps the first.",
     .choices = "report|drop"},
    {.name = "max-text",
     .type = OptionType::kSize,
     .default_value = "16MiB",
     .unit = "bytes",
     .sentence = "Larger texts are rejected.",
     .maximum = kTextLimitBytes},
    {.name = "max-rejects",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "records",
     .sentence = "Fail if more records than this have to be rejected.",
     .minimum = 0},
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Texts held in memory; what is beyond goes to work objects below TO.",
     .minimum = 1'000'000},
    {.name = "overwrite",
     .type = OptionType::kFlag,
     .sentence = "Start anew, and remove what Headrace wrote to TO before once FROM has been read."},
    kTrackOption,
};

PrepareOptions options_from(const OptionValues& values) {
  PrepareOptions options;
  options.layout = values.text("layout");
  options.shard_records = static_cast<std::uint64_t>(values.integer("shard-records"));
  options.format.compression = values.text("compression");
  options.format.compression_level = static_cast<int>(values.integer("compression-level"));
  options.format.keep_text = !values.flag("no-text");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.workers = values.integer("workers") != 0 ? static_cast<int>(values.integer("workers"))
                                                   : static_cast<int>(std::thread::hardware_concurrency());
  options.overwrite = values.flag("overwrite");
  options.memory_budget_bytes = values.size_bytes("memory");
  options.extract.drop_duplicates = values.text("duplicates") == "drop";
  options.extract.max_text_bytes = values.size_bytes("max-text");
  options.extract.max_rejects = static_cast<std::uint64_t>(values.integer("max-rejects"));
  return options;
}

void show(Console& console, const Location& output, const PrepareResult& result, double seconds) {
  const DatasetAttributes& attributes = result.attributes;
  if (console.json()) {
    nlohmann::json document = nlohmann::json::parse(dataset_attributes_to_json(attributes));
    document["url"] = output.url.text();
    document["manifest"] = result.manifest_number;
    document["manifest_digest"] = result.manifest_digest;
    document["shards"] = result.shards;
    document["shards_done_before"] = result.shards_done_before;
    document["text_bytes"] = result.text_bytes;
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
      labels += concat(labels.empty() ? "" : ", ", count, " ", label);
    console.result(concat("  ", name, ": ", split.records, " records (", labels, ")"));
  }
  std::string counts;
  for (const char* name : {"in", "written", "rejected", "dropped", "ignored"}) {
    counts += concat(counts.empty() ? "" : ", ", attributes.counts.at(name), " ", name);
  }
  console.result(concat("  ", counts));
  for (const auto& [reason, count] : attributes.reasons) console.result(concat("    ", count, " ", reason));
  console.result(concat("  ", result.shards, " shards, ", format_size(result.shard_bytes)));
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& values) {
  HEADRACE_TRY(Location input, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location output, context.stores.open(arguments[1]));
  input = make_stoppable(std::move(input), context.stop);
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(arguments[1], " is the root of a store; name a folder in it")};
  HEADRACE_CHECK(check_places(input, output));
  HEADRACE_TRY(const std::shared_ptr<const TextEncoder> encoder, encoder_from(context, values));
  return record_run(context, "prepare", output, values, [&](RunRecorder& recorder, RunEnd& end) -> Status {
    HEADRACE_CHECK(recorder.add_input(input));
    const auto progress = [&](std::string_view stage, std::uint64_t done, std::uint64_t total,
                              std::string_view unit) { context.console.progress(stage, done, total, unit); };
    const auto start = std::chrono::steady_clock::now();
    HEADRACE_TRY(const PrepareResult result,
                 prepare(input, make_stoppable(output, context.stop), *encoder, options_from(values),
                         recorder.run_id(), progress, context.stop));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    end.versions = {{"encoder", concat(encoder->name(), " ", encoder->weights_digest())}};
    end.counts = result.attributes.counts;
    end.counts["shards"] = result.shards;
    HEADRACE_CHECK(recorder.add_output(output));
    show(context.console, output, result, seconds.count());
    return {};
  });
}

}  // namespace

extern const Command kPrepareCommand;
const Command kPrepareCommand = {
    .name = "prepare",
    .summary = "Turn raw texts into shuffled, encoded TFRecord shards",
    .details =
        "Reads an archive or folder once, front to back, encodes each text to a vector, and writes shuffled\n"
        "TFRecord shards that a manifest publishes at the end. Killed or stopped, the same command "
        "continues.\n"
        "The bytes depend on the input, the encoder and the seed alone, not on the workers.\n"
        "\n"
        "  headrace prepare aclImdb_v1.tar.gz s3://datasets/reviews --encoder hash:512\n"
        "  headrace inspect s3://datasets/reviews",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
