#include "headrace/train/train.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/keep_console.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/cli/train_options.h"
#include "headrace/model/named_model.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/track/json_number.h"
#include "headrace/train/export.h"

namespace headrace {
namespace {

constexpr Positional kTrainPositionals[] = {
    {.name = "DATA", .sentence = "A dataset that headrace prepare published."},
    {.name = "RUN", .sentence = "Folder for the run: checkpoints, events, the exported model."},
};

constexpr Option kTrainOwnOptions[] = {
    {.name = "model",
     .default_value = "headrace.models:dense_classifier",
     .unit = "MODULE:FUNCTION",
     .sentence = "Python function, or FILE.py:FUNCTION, that returns a compiled Keras model."},
    {.name = "loop",
     .default_value = "native",
     .sentence = "What runs the steps: Headrace, without Python; or Keras' own fit, including your model's "
                 "train_step and your callbacks.",
     .choices = "native|keras"},
    {.name = "callbacks",
     .unit = "MODULE:FUNCTION",
     .sentence =
         "With --loop keras: Python function, or FILE.py:FUNCTION, that returns a list of Keras callbacks."},
    {.name = "seed",
     .type = OptionType::kInteger,
     .default_value = "44",
     .sentence = "Decides initial weights, dropout and the order of records.",
     .minimum = 0},
    {.name = "steps",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "steps",
     .sentence = "Stop after this many steps in total; 0: after the epochs.",
     .minimum = 0},
    {.name = "init-from",
     .unit = "RUN",
     .sentence = "Begin with the weights of another run's last checkpoint."},
    {.name = "name", .sentence = "Publish the result as the next version of the named model with this name."},
    {.name = "log-every",
     .type = OptionType::kInteger,
     .default_value = "100",
     .unit = "steps",
     .sentence = "How often to log the loss of a batch as an event; 0: only each epoch.",
     .minimum = 0},
    {.name = "curve",
     .type = OptionType::kFlag,
     .sentence =
         "Score some batches of the first epoch before training on them: headrace runs curve then says what "
         "more data would buy."},
    {.name = "cache",
     .unit = "URL[?max=200GiB]",
     .sentence = "Folder on a local disk that caches DATA; processes may share it."},
    {.name = "overwrite",
     .type = OptionType::kFlag,
     .sentence = "Remove the results of an earlier run in RUN and start from scratch."},
};

constexpr auto kTrainOptions = with_shared_train_options(kTrainOwnOptions);

Result<TrainOptions> options_from(CommandContext& context, const OptionValues& values) {
  HEADRACE_TRY(TrainOptions options, shared_train_options(values));
  options.loop = values.text("loop") == "keras" ? TrainLoop::kKeras : TrainLoop::kNative;
  if (values.has("callbacks")) options.callbacks = values.text("callbacks");
  if (values.has("cache")) options.cache_url = values.text("cache");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.steps = static_cast<std::uint64_t>(values.integer("steps"));
  if (values.has("init-from")) {
    HEADRACE_TRY(Location before, context.stores.open(values.text("init-from")));
    options.init_from = make_stoppable(std::move(before), context.stop);
  }
  options.log_every = static_cast<std::uint64_t>(values.integer("log-every"));
  options.curve = values.flag("curve");
  options.overwrite = values.flag("overwrite");
  return options;
}

std::string epoch_line(const EpochMetrics& metrics, std::uint64_t epochs) {
  std::string line = concat("epoch ", metrics.epoch, "/", epochs, "  step ", metrics.step);
  for (const auto& [name, value] : metrics.values) line += concat("  ", name, " ", shown(value));
  return line;
}

Json result_to_json(const Location& run, const TrainResult& result, double seconds,
                    const std::optional<NamedVersion>& named) {
  Json document = {{"url", run.url.text()},
                   {"export", run.at("export").url.text()},
                   {"export_digest", result.export_digest},
                   {"exported_epoch", result.exported_epoch},
                   {"train_records", result.train_records},
                   {"validation_records", result.validation_records},
                   {"steps", result.steps},
                   {"steps_done_now", result.steps_done_now},
                   {"training_seconds", result.training_seconds},
                   {"seconds", seconds},
                   {"fetched_bytes", result.loader.fetched_bytes},
                   {"inflated_bytes", result.loader.inflated_bytes},
                   {"records_read", result.loader.records},
                   {"corrupt_records", result.corrupt_records},
                   {"input_wait_seconds", result.loader.wait_seconds},
                   {"stopped_early", result.stopped_early},
                   {"was_finished", result.was_finished},
                   {"model", result.model.model},
                   {"optimizer", result.model.optimizer},
                   {"loss", result.model.loss},
                   {"parameters", result.model.parameters},
                   {"versions", result.model.versions},
                   {"history", Json::array()},
                   {"layers", Json::array()}};
  for (const EpochMetrics& metrics : result.history) {
    Json epoch;
    for (const auto& [name, value] : metrics.values) epoch[name] = number_to_json(value);
    epoch["epoch"] = metrics.epoch;
    epoch["step"] = metrics.step;
    document["history"].push_back(std::move(epoch));
  }
  for (const TracedLayer& layer : result.model.layers) {
    Json entry = {
        {"name", layer.name}, {"type", layer.type}, {"parameters", layer.parameters}, {"output", nullptr}};
    if (layer.output)
      entry["output"] = std::vector<std::int64_t>(layer.output->sizes().begin(), layer.output->sizes().end());
    document["layers"].push_back(std::move(entry));
  }
  if (named) document["named"] = {{"version", named->version}, {"url", named->folder.url.text()}};
  return document;
}

void show_training(Console& console, const Location& run, const TrainResult& result, double seconds,
                   const std::optional<NamedVersion>& named) {
  for (const std::string& remark : result.remarks) console.warn(remark);
  if (result.corrupt_records > 0)
    console.warn(concat(result.corrupt_records, " corrupt records of each epoch were left out"));
  if (console.json()) {
    console.result(result_to_json(run, result, seconds, named).dump());
    return;
  }
  if (result.was_finished) {
    console.result(concat(run.describe(), " was finished before; nothing to do"));
  } else {
    console.result(concat(run.describe(), " is trained: ", result.steps, " steps, ", shown(seconds), " s",
                          result.stopped_early ? ", stopped early" : ""));
  }
  if (!result.history.empty())
    console.result("  " + epoch_line(result.history[result.exported_epoch - 1], result.history.size()));
  console.result(concat("  model: ", run.at("export").describe()));
  if (named)
    console.result(concat("  published as version ", named->version, ": ", named->folder.describe()));
}

Status train_recorded(CommandContext& context, const Location& data, const Location& run,
                      const OptionValues& values, RunRecorder& recorder, RunEnd& end) {
  HEADRACE_TRY(TrainOptions options, options_from(context, values));
  HEADRACE_TRY(const DataVersion version, choose_data_version(data, run, options));
  if (!version.remark.empty()) context.console.warn(version.remark);
  options.data_version = version.number;
  HEADRACE_CHECK(recorder.add_input("data", data, options.data_version));
  if (options.init_from) {
    if (Status known = recorder.add_input("init-from", options.init_from->at("checkpoints")); !known)
      return std::move(known).error().in("--init-from");
  }
  for (const std::string name : {"train", "validation"}) {
    if (name == "train" || options.validation > 0)
      HEADRACE_CHECK(recorder.add_series({name, run.at("events/" + name).url.text(), "event_files"}));
  }
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const TraceOptions trace, trace_options(context, engine));
  const TrainEnvironment environment{*engine.engine,
                                     trace,
                                     context.environment,
                                     temporary_folder(context.environment),
                                     [&](std::string_view line) { context.console.note(line); },
                                     [&](const ModelBinding& binding) {
                                       for (const std::string& line : describe(binding))
                                         context.console.note(concat("the model ", line));
                                     }};
  const auto on_step = [&](const TrainProgress& at) {
    context.console.progress("training", at.step, at.total_steps, "steps");
  };
  const auto on_epoch = [&](const EpochMetrics& metrics) {
    context.console.note(epoch_line(metrics, options.epochs));
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(const TrainResult result,
               train(data, make_stoppable(run, context.stop), options, environment,
                     actor_of(context, "train", recorder), on_step, on_epoch, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  end.versions = result.model.versions;
  if (!result.history.empty()) end.metrics = result.history.back().values;
  end.counts = {{"train_records", result.train_records},
                {"validation_records", result.validation_records},
                {"steps", result.steps},
                {"corrupt_records", result.corrupt_records}};
  HEADRACE_CHECK(recorder.add_output("export", run.at("export")));
  std::optional<NamedVersion> named;
  if (values.has("name")) {
    HEADRACE_TRY(named, publish_named_model(recorder.root(), values.text("name"), run.at("export"),
                                            result.export_digest, recorder.run_id()));
    HEADRACE_CHECK(recorder.add_output("named-model", named->folder));
  }
  show_training(context.console, run, result, seconds.count(), named);
  return {};
}

Status check_train(const OptionValues& values) {
  if (values.has("callbacks") && values.text("loop") != "keras")
    return Error{Code::kInvalidArgument,
                 "--callbacks are called by Keras' fit: give --loop keras, or leave them out"};
  if (values.flag("curve") && values.text("loop") == "keras")
    return Error{
        Code::kInvalidArgument,
        "--curve needs the native loop: leave out --curve or --loop keras; headrace learning-curve measures "
        "a curve by training"};
  for (const char* option : {"balance", "init-from"}) {
    if (values.flag("curve") && values.has(option))
      return Error{Code::kInvalidArgument,
                   concat("--curve scores records that the model has not learnt from, and with --", option,
                          " it may have: leave one of the two out")};
  }
  HEADRACE_CHECK(check_shared_train_options(values));
  return values.has("name") ? check_model_name(values.text("name")) : Status{};
}

Status run_train(CommandContext& context, const std::vector<std::string>& arguments,
                 const OptionValues& values) {
  HEADRACE_TRY(Location data, context.stores.open(arguments[0]));
  data = make_stoppable(std::move(data), context.stop);
  if (values.has("cache")) {
    HEADRACE_TRY(const CacheUrl cache, parse_cache_url(values.text("cache")));
    HEADRACE_TRY(Location folder, context.stores.open(cache.folder));
    data = make_cached(std::move(data), std::move(folder), cache.options);
  }
  HEADRACE_TRY(const Location output, context.stores.open(arguments[1]));
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(arguments[1], " is the root of a store; name a folder in it")};
  return record_run(context, "train", output, values, [&](RunRecorder& recorder, RunEnd& end) {
    return keep_console(context, recorder,
                        [&] { return train_recorded(context, data, output, values, recorder, end); });
  });
}

}  // namespace

extern const Command kTrainCommand;
const Command kTrainCommand = {
    .name = "train",
    .summary = "Train a Keras model on a prepared dataset",
    .details =
        "Traces the model once with Python and runs it with TensorFlow from native code. Writes a checkpoint "
        "and events after each epoch, and at the end a SavedModel in RUN/export. If it is killed or stopped, "
        "the same command continues from the last checkpoint and ends with the same weights, bit for bit.\n"
        "With --loop keras, Keras' own fit runs in a Python process, with your own train_step, callbacks and "
        "schedules.\n"
        "\n"
        "  headrace train s3://datasets/reviews s3://datasets/runs/imdb-1 --epochs 10\n"
        "  headrace train s3://datasets/reviews s3://datasets/runs/mine --model mine.py:build --early-stop "
        "3\n"
        "  headrace train data runs/fit --loop keras --model mine.py:build --callbacks mine.py:callbacks",
    .positionals = kTrainPositionals,
    .options = kTrainOptions,
    .run = run_train,
    .check = check_train};

}  // namespace headrace
