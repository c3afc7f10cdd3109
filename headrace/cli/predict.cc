#include "headrace/predict/predict.h"

#include <algorithm>
#include <fstream>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/answer_given.h"
#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/open_model.h"
#include "headrace/cli/parquet.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/table_options.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/cli/worker_count.h"
#include "headrace/coordinate/versions.h"
#include "headrace/predict/dataset_input.h"
#include "headrace/predict/predict_to_table.h"
#include "headrace/predict/prediction_target.h"
#include "headrace/predict/raw_input.h"
#include "headrace/prepare/source/input_kind.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

constexpr const char* kParquetProgram = "predictions_parquet.py";

constexpr Positional kPredictPositionals[] = {
    {.name = "RUN",
     .sentence = "A run of headrace train, a version of a named model, or a SavedModel of another program."},
};

constexpr Option kPredictOptions[] = {
    {.name = "text",
     .type = OptionType::kTextList,
     .sentence = "A text to answer. With -, reads one text per line from standard input, and answers them as "
                 "they come."},
    {.name = "image",
     .type = OptionType::kTextList,
     .unit = "URL",
     .sentence = "An image to answer, by a model whose only input is an image."},
    {.name = "data",
     .unit = "URL",
     .sentence =
         "Answer the records of this dataset, or the rows of this table, folder or archive, instead of "
         "texts. Rows need no labels: the run says how inputs are made from them. With -, reads rows from "
         "standard input, and prints the answers as they come."},
    {.name = "layout",
     .unit = "FORMAT",
     .sentence =
         "With --data: format of raw rows, as headrace prepare names it. Default: recognised by file names, "
         "for TFRecords and WebDatasets by their first record; jsonl from standard input."},
    kDelimiterOption,
    {.name = "to",
     .unit = "URL",
     .sentence = "With --data: folder for the predictions; or a table or cache of Apache Ignite, as "
                 "ignite-table://HOST:10800/TABLE or ignite-cache://HOST:10800/CACHE, which gets a row or "
                 "entry for each prediction."},
    {.name = "format",
     .default_value = "jsonl",
     .sentence =
         "With --data: format of the predictions; in a folder, all but parquet are gzipped. Parquet needs "
         "pyarrow in the interpreter.",
     .choices = "jsonl|csv|tfrecord|parquet"},
    kDataVersionOption,
    kSplitOption,
    kSignatureOption,
    kInputFeaturesOption,
    kOutputLabelsOption,
    kLikeOption,
    kRowSchemaOption,
    kOnCorruptOption,
    kEncoderWeightsOption,
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence =
         "Threads that encode texts or process shards; 0: one per core. The result does not depend on it.",
     .minimum = 0,
     .maximum = 1024},
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "With --data: memory for reading ahead, for each worker.",
     .minimum = 1'000'000},
    {.name = "overwrite",
     .type = OptionType::kFlag,
     .sentence = "Remove the predictions in the folder and start from scratch."},
    kTrackOption,
    kRunIdOption,
};

Result<std::unique_ptr<PredictInput>> open_dataset(const ExportedModel& model, const Location& data,
                                                   const OptionValues& values, bool has_manifest,
                                                   const std::stop_token& stop) {
  return open_dataset_input(model, data,
                            {.split = values.text("split"),
                             .data_version = data_version(values),
                             .on_corrupt = corruption_policy(values),
                             .memory_budget_bytes = values.size_bytes("memory"),
                             .checks_first = !has_manifest},
                            stop);
}

// Refuses options that have no use for the given input.
Status check_uses(const OptionValues& values, std::initializer_list<std::string_view> useless,
                  std::string_view why) {
  for (const std::string_view option : useless) {
    if (!values.given(option)) continue;
    return Error{Code::kInvalidArgument, concat("--", option, " has no use: ", why, ". Leave it out")};
  }
  return {};
}

// `format`: the format of data in stores. `output`: the place whose owner made the rows, if a program staged
// them.
Result<std::unique_ptr<PredictInput>> open_rows(CommandContext& context, const ExportedModel& model,
                                                const InputPlace& data, std::optional<InputFormat> format,
                                                const Location& output, const OptionValues& values) {
  HEADRACE_CHECK(check_uses(values, {"data-version", "split", "memory"},
                            concat(data.describe(), " is not a dataset; all of its rows are answered")));
  HEADRACE_TRY(Input input, find_input(data, {.format = format, .stop = context.stop}));
  HEADRACE_TRY(input.delimiter, delimiter_from(values));
  HEADRACE_CHECK(check_staged_rows(input, output));
  HEADRACE_TRY(TextEncoders encoders, encoders_of(context, model, values));
  return open_raw_input(model, std::move(input), context.stores, std::move(encoders),
                        {.on_corrupt = corruption_policy(values)});
}

// TFRecords and WebDatasets without a manifest hold the model's inputs or raw rows: the first records decide.
Result<std::unique_ptr<PredictInput>> open_records(CommandContext& context, const ExportedModel& model,
                                                   const Location& data, InputFormat format,
                                                   const Location& output, const OptionValues& values) {
  auto records = open_dataset(model, data, values, false, context.stop);
  if (records || records.error().code != Code::kInvalidArgument) return records;
  auto rows = open_rows(context, model, data, format, output, values);
  const Status fits = rows ? check_first_rows(**rows, context.stop) : Status(rows.error());
  if (fits) return rows;
  const bool are_rows_unknown = fits.error().code == Code::kFailedPrecondition && !model.is_foreign();
  if (are_rows_unknown) return records;
  return Error{Code::kInvalidArgument,
               concat(records.error().message, ". They are not raw rows of the model either (--layout ",
                      input_format_name(format), "): ", fits.error().message)};
}

// A published dataset is read as a dataset, TFRecords and WebDatasets as they are, and everything else as
// rows.
Result<std::unique_ptr<PredictInput>> open_input(CommandContext& context, const ExportedModel& model,
                                                 const InputPlace& place, const Location& output,
                                                 const OptionValues& values) {
  if (values.has("layout")) {
    HEADRACE_TRY(const InputFormat format, parse_input_format(values.text("layout")));
    return open_rows(context, model, place, format, output, values);
  }
  if (!place.location) return open_rows(context, model, place, {}, output, values);
  const Location& data = *place.location;
  HEADRACE_TRY(const std::optional<NumberedObject> manifest, read_current_manifest(data));
  if (manifest) return open_dataset(model, data, values, true, context.stop);
  HEADRACE_TRY(const InputFormat format, guess_input_format(data, false));
  const bool has_records = format == InputFormat::kTfrecord || format == InputFormat::kWebDataset;
  return has_records ? open_records(context, model, data, format, output, values)
                     : open_rows(context, model, data, format, output, values);
}

void show_left_out(Console& console, const PredictResult& result) {
  for (const std::string& remark : result.remarks) console.warn(remark);
  if (result.left_out > 0)
    console.warn(concat(result.left_out, " records or rows could not be read and were left out"));
}

void show_predictions(Console& console, const Location& output, const PredictResult& result, double seconds) {
  show_left_out(console, result);
  if (console.json()) {
    console.result(Json{
        {"url", output.url.text()},
        {"records", result.records},
        {"shards", result.shards},
        {"shard_bytes", result.shard_bytes},
        {"left_out", result.left_out},
        {"was_published", result.was_published},
        {"seconds",
         seconds}}.dump());
    return;
  }
  console.result(concat(output.describe(),
                        result.was_published ? " was published before; nothing to do" : " is published"));
  console.result(concat("  ", result.records, " predictions in ", result.shards, " shards, ",
                        format_size(result.shard_bytes)));
}

// The types of a table's columns, as JSON for the program that writes the table as Parquet.
std::string column_types(const ExportedModel& model, const PredictInput& input) {
  std::map<std::string, std::string> types = AnswerFormat(model.contract).column_types();
  for (const std::string& name : input.names()) types[name] = name == "row" ? "int64" : "string";
  return Json(types).dump();
}

Status add_data_input(RunRecorder& recorder, const InputPlace& data, const OptionValues& values) {
  if (data.location) return recorder.add_input("data", *data.location, data_version(values));
  return recorder.add_input(
      {.url = redact_secrets(data.url.text()), .kind = std::string(data.kind->name()), .name = "data"});
}

// Where predictions come from.
struct PredictSources {
  Location run;
  InputPlace data;
};

Result<PredictSources> open_sources(CommandContext& context, const std::string& run,
                                    const OptionValues& values) {
  HEADRACE_TRY(Location opened, context.stores.open(run));
  HEADRACE_TRY(InputPlace data, open_input_place(values.text("data"), context.stores));
  if (data.location) data.location = make_stoppable(*std::move(data.location), context.stop);
  return PredictSources{make_stoppable(std::move(opened), context.stop), std::move(data)};
}

Status predict_recorded(CommandContext& context, const PredictSources& sources, const Location& output,
                        const OptionValues& values, RunRecorder& recorder, RunEnd& end) {
  const auto& [run, data] = sources;
  HEADRACE_TRY(const PredictionFormat format, parse_prediction_format(values.text("format")));
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_model(context, run, data.location, values, *engine.engine, false));
  HEADRACE_CHECK(add_model_input(recorder, model));
  HEADRACE_CHECK(add_data_input(recorder, data, values));
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input, open_input(context, model, data, output, values));
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder(context.environment)));
  const std::string types = concat(staged.path(), "/types.json");
  if (format == PredictionFormat::kParquet) {
    // Checks now, not after hours, that pyarrow is installed.
    HEADRACE_CHECK(run_parquet_program(context, kParquetProgram, {}));
    std::ofstream(types) << column_types(model, *input);
  }
  const PredictOptions options{
      .workers = workers_from(values),
      .overwrite = values.flag("overwrite"),
      .format = format,
      .to_parquet =
          [&](const std::string& csv, const std::string& parquet) {
            return run_parquet_program(context, kParquetProgram, {csv, parquet, types});
          },
      .temporary_folder = temporary_folder(context.environment)};
  const auto on_records = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress("predicting", done, std::max(done, total), "records");
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(const PredictResult result,
               predict(model, *input, make_stoppable(output, context.stop), options,
                       actor_of(context, "predict", recorder), on_records, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  end.versions = {{"engine", engine.engine->version()}};
  end.counts = {{"records", result.records}, {"shards", result.shards}, {"left_out", result.left_out}};
  HEADRACE_CHECK(recorder.add_output("predictions", output));
  show_predictions(context.console, output, result, seconds.count());
  return {};
}

void show_table(Console& console, const std::string& url, const PredictResult& result, double seconds) {
  show_left_out(console, result);
  if (console.json()) {
    return console.result(Json{
        {"url", url},
        {"records", result.records},
        {"left_out", result.left_out},
        {"seconds", seconds}}.dump());
  }
  console.result(concat(url, " has the predictions of ", result.records, " rows"));
}

Status predict_into_table(CommandContext& context, const PredictSources& sources,
                          const PredictionTarget& target, const OptionValues& values, RunRecorder& recorder,
                          RunEnd& end) {
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_model(context, sources.run, sources.data.location, values, *engine.engine, false));
  HEADRACE_CHECK(add_model_input(recorder, model));
  HEADRACE_CHECK(add_data_input(recorder, sources.data, values));
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input,
               open_input(context, model, sources.data, sources.run, values));
  HEADRACE_TRY(const std::unique_ptr<PredictionTable> table,
               open_prediction_table(target, context.environment, AnswerFormat(model.contract), model.digest,
                                     context.stop));
  const auto on_records = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress("predicting", done, std::max(done, total), "records");
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(
      const PredictResult result,
      predict_to_table(model, *input, *table, {.workers = workers_from(values)}, on_records, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  end.versions = {{"engine", engine.engine->version()}};
  end.counts = {{"records", result.records}, {"left_out", result.left_out}};
  HEADRACE_CHECK(recorder.add_output(
      {.url = values.text("to"), .kind = scheme_of(values.text("to")), .name = "predictions"}));
  show_table(context.console, values.text("to"), result, seconds.count());
  return {};
}

Status answer_given(CommandContext& context, const Location& run, const OptionValues& values) {
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model, open_model(context, run, {}, values, *engine.engine, false));
  if (values.has("text")) return answer_texts(context, model, values);
  if (values.has("image")) return answer_images(context, model, values);
  return answer_rows(context, model, values);
}

Status check_predict(const OptionValues& values) {
  if (values.has("text") + values.has("image") + values.has("data") != 1)
    return Error{Code::kInvalidArgument, "give what to answer: either --text, --image, or --data with --to"};
  if (!values.has("data")) {
    HEADRACE_CHECK(check_uses(
        values,
        {"data-version", "split", "memory", "layout", "delimiter", "format", "on-corrupt", "overwrite"},
        "it is for --data"));
  }
  if (values.text("data") == kStandardInput) {
    HEADRACE_CHECK(check_uses(values, {"data-version", "split", "memory", "overwrite", "workers"},
                              "rows of standard input are answered as they come"));
  }
  const bool are_printed = values.text("data") == kStandardInput || !values.has("data");
  if (!are_printed && !values.has("to"))
    return Error{Code::kInvalidArgument, "--to is missing: the URL of a folder for the predictions"};
  if (are_printed && values.text("format") == "parquet")
    return Error{Code::kInvalidArgument, "--format parquet is for folders: give --data and --to"};
  if (is_prediction_target(values.text("to"))) {
    HEADRACE_CHECK(check_uses(values, {"format", "overwrite"},
                              "a table or cache has rows, and a row of the same key is replaced"));
    HEADRACE_TRY(const PredictionTarget target, parse_prediction_target(values.text("to")));
    HEADRACE_CHECK(check_is_no_source(target, values.text("data")));
  }
  if (are_printed && values.has("to"))
    return Error{Code::kInvalidArgument,
                 "--to is for --data of a dataset or rows in a store: these answers are printed"};
  return {};
}

Status run_predict(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  if (!values.has("to")) {
    HEADRACE_TRY(Location run, context.stores.open(arguments[0]));
    return answer_given(context, make_stoppable(std::move(run), context.stop), values);
  }
  HEADRACE_TRY(const PredictSources sources, open_sources(context, arguments[0], values));
  if (is_prediction_target(values.text("to"))) {
    HEADRACE_TRY(const PredictionTarget target, parse_prediction_target(values.text("to")));
    const auto body = [&](RunRecorder& recorder, RunEnd& end) {
      return predict_into_table(context, sources, target, values, recorder, end);
    };
    // A table has no folder beside it, so the record lies with the model's records.
    return record_run(context, "predict", sources.run, values, body, {.has_output = false});
  }
  HEADRACE_TRY(const Location output, context.stores.open(values.text("to")));
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(values.text("to"), " is the root of a store; name a folder in it")};
  return record_run(context, "predict", output, values, [&](RunRecorder& recorder, RunEnd& end) {
    return predict_recorded(context, sources, output, values, recorder, end);
  });
}

}  // namespace

extern const Command kPredictCommand;
const Command kPredictCommand = {
    .name = "predict",
    .summary = "Make predictions for texts, rows or a dataset with a trained model",
    .details =
        "Texts are encoded by the encoder of the model's training data, which the run names. Answers to "
        "texts are printed and not recorded. Predictions for --data go to gzipped objects, in the order of "
        "its records or rows. --data takes a dataset, which is read as for training, or what headrace "
        "prepare takes: a table, JSON Lines, texts or images in folders or archives, rows of Apache Ignite. "
        "Rows become the model's inputs as the rows of its training data did: by the same schema, "
        "vocabularies and encoders. A SavedModel that Headrace did not write takes the features that have "
        "the names of its inputs, or those that --features names; for raw rows give --schema or --like.\n"
        "\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text \"great acting\" --text \"terrible acting\"\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text - --json < reviews.txt\n"
        "  headrace predict s3://datasets/runs/imdb-1 --data s3://datasets/reviews --to "
        "s3://datasets/answers\n"
        "  headrace predict s3://datasets/runs/cats --image cat.jpg\n"
        "  headrace predict s3://datasets/runs/income --data people.csv --to answers\n"
        "  headrace predict s3://datasets/runs/income --data - < people.jsonl\n"
        "  headrace predict ./saved_model --data people.csv --like s3://datasets/people --to answers\n"
        "  headrace predict s3://datasets/runs/income --data ignite-sql://db-1:10800/PEOPLE \\\n"
        "    --to ignite-table://db-1:10800/INCOMES\n"
        "  headrace predict s3://datasets/runs/income --data ignite-cache://db-1:10800/PEOPLE \\\n"
        "    --to ignite-cache://db-1:10800/INCOMES",
    .positionals = kPredictPositionals,
    .options = kPredictOptions,
    .run = run_predict,
    .check = check_predict};

}  // namespace headrace
