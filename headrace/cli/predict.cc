#include "headrace/evaluate/predict.h"

#include <unistd.h>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/cli/text_lines.h"
#include "headrace/evaluate/confusion_matrix.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/os/parallel.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

constexpr std::string_view kStandardInput = "-";

constexpr Positional kPredictPositionals[] = {
    {.name = "RUN", .sentence = "A run of headrace train, or a version of a named model."},
};

constexpr Option kPredictOptions[] = {
    {.name = "text",
     .type = OptionType::kTextList,
     .sentence = "A text to classify; may be repeated. With -, reads one text per line from standard input, "
                 "and answers them as they come."},
    {.name = "data", .unit = "URL", .sentence = "Classify the records of this dataset instead of texts."},
    {.name = "to", .unit = "URL", .sentence = "With --data: folder for the predictions."},
    kDataVersionOption,
    kSplitOption,
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

int workers_of(const OptionValues& values) {
  if (values.integer("workers") != 0) return static_cast<int>(values.integer("workers"));
  return available_cores();
}

// Prints answers as they come: a table for people, one JSON document for programs.
class Answers {
 public:
  Answers(Console& console, const ExportedModel& model)
      : console_(console), labels_(model.attributes.labels) {
    for (const std::string& label : labels_) label_width_ = std::max(label_width_, label.size());
    if (!console_.json()) return;
    const Json head = {{"labels", labels_}, {"model", model.folder.url.text()}};
    const std::string text = head.dump();
    print(text.substr(0, text.size() - 1) + R"(,"predictions":[)" + "\n");
  }

  void add(const std::string& text, std::span<const float> scores) {
    if (console_.json()) {
      // The comma before, so that whoever reads line by line has the whole answer with its line.
      print(concat(any_ ? "," : "", prediction_to_json(labels_, scores, {{"text", text}}), "\n"));
    } else {
      const std::size_t best = highest(scores).value_or(0);
      const std::string& label = labels_[best];
      console_.result(
          concat(label, std::string(label_width_ - label.size() + 2, ' '), shown(scores[best]), "  ", text));
    }
    any_ = true;
  }

  Status finish() {
    if (console_.json()) print("]}\n");
    return status_;
  }

 private:
  void print(const std::string& text) {
    if (status_) status_ = console_.result_bytes(as_bytes(text));
  }

  Console& console_;
  const std::vector<std::string>& labels_;
  std::size_t label_width_ = 0;
  bool any_ = false;
  Status status_;
};

Status answer(const ExportedModel& model, const TextEncoder& encoder, std::span<const std::string> texts,
              int workers, Answers& answers) {
  HEADRACE_TRY(const auto scores, predict_texts(model, encoder, texts, workers));
  for (std::size_t i = 0; i < texts.size(); ++i) answers.add(texts[i], scores[i]);
  return {};
}

Status predict_given_texts(CommandContext& context, const Location& run, const OptionValues& values) {
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  const std::string& name = model.attributes.encoder.name;
  if (name.empty())
    return Error{Code::kInvalidArgument, concat("the model in ", model.folder.describe(),
                                                " was not trained on texts; give --data instead of --text")};
  HEADRACE_TRY(const std::shared_ptr<const TextEncoder> encoder,
               make_text_encoder(name, encoder_sources(context, values.text("encoder-weights"))));
  HEADRACE_CHECK(check_encoder(model.attributes, *encoder));
  Answers answers(context.console, model);
  for (const std::string& text : values.list("text")) {
    if (text != kStandardInput) {
      HEADRACE_CHECK(answer(model, *encoder, {&text, 1}, 1, answers));
      continue;
    }
    TextLines lines(STDIN_FILENO, context.stop);
    while (true) {
      HEADRACE_TRY(const std::vector<std::string> texts, lines.next());
      if (texts.empty()) break;
      if (context.stop.stop_requested()) return Error{Code::kCancelled, "predicting was stopped"};
      HEADRACE_CHECK(answer(model, *encoder, texts, workers_of(values), answers));
      HEADRACE_CHECK(context.console.flush());  // a program may wait for it before it writes on
    }
  }
  return answers.finish();
}

void show_predictions(Console& console, const Location& output, const PredictResult& result, double seconds) {
  for (const std::string& remark : result.remarks) console.warn(remark);
  if (result.corrupt_records > 0)
    console.warn(concat(result.corrupt_records, " corrupt records were left out"));
  if (console.json()) {
    console.result(Json{
        {"url", output.url.text()},
        {"records", result.records},
        {"shards", result.shards},
        {"shard_bytes", result.shard_bytes},
        {"corrupt_records", result.corrupt_records},
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

Status predict_recorded(CommandContext& context, const Location& run, const Location& data,
                        const Location& output, const OptionValues& values, RunRecorder& recorder,
                        RunEnd& end) {
  const PredictOptions options{.split = values.text("split"),
                               .data_version = data_version(values),
                               .on_corrupt = corruption_policy(values),
                               .workers = workers_of(values),
                               .overwrite = values.flag("overwrite"),
                               .memory_budget_bytes = values.size_bytes("memory")};
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  HEADRACE_CHECK(recorder.add_input("model", model.folder));
  HEADRACE_CHECK(recorder.add_input("data", data, options.data_version));
  const auto on_records = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress("predicting", done, total, "records");
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(const PredictResult result,
               predict(model, data, make_stoppable(output, context.stop), options,
                       actor_of(context, "predict", recorder), on_records, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  end.versions = {{"engine", engine.engine->version()}};
  end.counts = {
      {"records", result.records}, {"shards", result.shards}, {"corrupt_records", result.corrupt_records}};
  HEADRACE_CHECK(recorder.add_output("predictions", output));
  show_predictions(context.console, output, result, seconds.count());
  return {};
}

Status check_predict(const OptionValues& values) {
  if (values.has("text") == values.has("data"))
    return Error{Code::kInvalidArgument, "give either --text, or --data with --to: what to classify"};
  if (values.has("data-version") && !values.has("data"))
    return Error{Code::kInvalidArgument,
                 "--data-version is a version of --data: give --data, or leave it out"};
  if (values.has("data") && !values.has("to"))
    return Error{Code::kInvalidArgument, "--to is missing: the URL of a folder for the predictions"};
  return {};
}

Status run_predict(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(Location run, context.stores.open(arguments[0]));
  run = make_stoppable(std::move(run), context.stop);
  if (values.has("text")) return predict_given_texts(context, run, values);
  HEADRACE_TRY(Location data, context.stores.open(values.text("data")));
  data = make_stoppable(std::move(data), context.stop);
  HEADRACE_TRY(const Location output, context.stores.open(values.text("to")));
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(values.text("to"), " is the root of a store; name a folder in it")};
  return record_run(context, "predict", output, values, [&](RunRecorder& recorder, RunEnd& end) {
    return predict_recorded(context, run, data, output, values, recorder, end);
  });
}

}  // namespace

extern const Command kPredictCommand;
const Command kPredictCommand = {
    .name = "predict",
    .summary = "Classify texts, or the records of a dataset, with a trained model",
    .details =
        "Texts are encoded by the encoder of the model's training data, which the run names. Answers to "
        "texts are printed and not recorded. Predictions for a dataset go to JSON Lines objects, in the "
        "order of its records.\n"
        "\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text \"great acting\" --text \"terrible acting\"\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text - --json < reviews.txt\n"
        "  headrace predict s3://datasets/runs/imdb-1 --data s3://datasets/reviews --to "
        "s3://datasets/answers",
    .positionals = kPredictPositionals,
    .options = kPredictOptions,
    .run = run_predict,
    .check = check_predict};

}  // namespace headrace
