#include "headrace/predict/predict.h"

#include <unistd.h>

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/table_options.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/cli/text_lines.h"
#include "headrace/coordinate/versions.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/os/parallel.h"
#include "headrace/predict/dataset_input.h"
#include "headrace/predict/raw_input.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {
namespace {

constexpr std::string_view kStandardInput = "-";

constexpr Positional kPredictPositionals[] = {
    {.name = "RUN", .sentence = "A run of headrace train, or a version of a named model."},
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
         "texts. Rows need no labels: the model knows how its inputs are made of them."},
    {.name = "layout",
     .unit = "FORMAT",
     .sentence = "With --data: format of the rows, as headrace prepare names it. Default: by the names of "
                 "files."},
    kDelimiterOption,
    {.name = "to", .unit = "URL", .sentence = "With --data: folder for the predictions."},
    {.name = "format",
     .default_value = "jsonl",
     .sentence = "With --data: format of the predictions, gzipped.",
     .choices = "jsonl|csv|tfrecord"},
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

// The encoders of the model's inputs, each as the model was trained with it.
Result<TextEncoders> encoders_of(CommandContext& context, const ExportedModel& model,
                                 const OptionValues& values) {
  TextEncoders out;
  for (const auto& [feature, wanted] : model.contract.encoders) {
    if (out.contains(wanted.name)) continue;
    HEADRACE_TRY(std::shared_ptr<const TextEncoder> encoder,
                 make_text_encoder(wanted.name, encoder_sources(context, values.text("encoder-weights"))));
    HEADRACE_CHECK(check_encoder(wanted, *encoder));
    out.emplace(wanted.name, std::move(encoder));
  }
  return out;
}

Result<std::unique_ptr<PredictInput>> open_dataset(const ExportedModel& model, const Location& data,
                                                   const OptionValues& values, const std::stop_token& stop) {
  return open_dataset_input(model, data,
                            {.split = values.text("split"),
                             .data_version = data_version(values),
                             .on_corrupt = corruption_policy(values),
                             .memory_budget_bytes = values.size_bytes("memory")},
                            stop);
}

// A published dataset, TFRecords or a WebDataset is read as a dataset; everything else as rows.
Result<std::unique_ptr<PredictInput>> open_input(CommandContext& context, const ExportedModel& model,
                                                 const Location& data, const Location& output,
                                                 const OptionValues& values) {
  InputFormat format = InputFormat::kTfrecord;
  if (values.has("layout")) {
    HEADRACE_TRY(format, parse_input_format(values.text("layout")));
  } else {
    HEADRACE_TRY(const std::optional<NumberedObject> manifest, read_current_manifest(data));
    if (!manifest) {
      HEADRACE_TRY(format, guess_input_format(data));
    }
    if (manifest || format == InputFormat::kTfrecord || format == InputFormat::kWebDataset)
      return open_dataset(model, data, values, context.stop);
  }
  if (values.has("data-version"))
    return Error{Code::kInvalidArgument, concat("--data-version: ", data.describe(), " is no dataset")};
  HEADRACE_TRY(Input input, find_input(data, format));
  HEADRACE_TRY(input.delimiter, delimiter_from(values));
  HEADRACE_CHECK(check_staged_rows(input, output));
  HEADRACE_TRY(TextEncoders encoders, encoders_of(context, model, values));
  return open_raw_input(model, std::move(input), context.stores, std::move(encoders),
                        {.on_corrupt = corruption_policy(values)});
}

// Prints answers as they come: lines for people, one JSON document for programs.
class AnswerPrinter {
 public:
  AnswerPrinter(Console& console, const ExportedModel& model) : console_(console) {
    if (!console_.json()) return;
    const Json head = {{"model", model.folder.url.text()}};
    const std::string text = head.dump();
    print(text.substr(0, text.size() - 1) + R"(,"predictions":[)" + "\n");
  }

  // `what`: "text" or "image", and the given one.
  void add(std::string_view what, const std::string& text, const Answers& answers, std::size_t row) {
    if (console_.json()) {
      // The comma before, so that whoever reads line by line has the whole answer with its line.
      print(concat(any_ ? "," : "", answers.to_json(row, json_member(what, text)), "\n"));
    } else {
      console_.result(concat(answers.to_text(row), "  ", text));
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
  bool any_ = false;
  Status status_;
};

Status answer(const ExportedModel& model, const TextEncoder& encoder, std::span<const std::string> texts,
              int workers, AnswerPrinter& printer) {
  HEADRACE_TRY(const Answers answers, predict_texts(model, encoder, texts, workers));
  for (std::size_t i = 0; i < texts.size(); ++i) printer.add("text", texts[i], answers, i);
  return {};
}

Status predict_given_texts(CommandContext& context, const Location& run, const OptionValues& values) {
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  HEADRACE_TRY(const EncoderDescription wanted, text_encoder_of(model));
  HEADRACE_TRY(const std::shared_ptr<const TextEncoder> encoder,
               make_text_encoder(wanted.name, encoder_sources(context, values.text("encoder-weights"))));
  HEADRACE_CHECK(check_encoder(wanted, *encoder));
  AnswerPrinter printer(context.console, model);
  for (const std::string& text : values.list("text")) {
    if (text != kStandardInput) {
      HEADRACE_CHECK(answer(model, *encoder, {&text, 1}, 1, printer));
      continue;
    }
    TextLines lines(STDIN_FILENO, context.stop);
    while (true) {
      HEADRACE_TRY(const std::vector<std::string> texts, lines.next());
      if (texts.empty()) break;
      if (context.stop.stop_requested()) return Error{Code::kCancelled, "predicting was stopped"};
      HEADRACE_CHECK(answer(model, *encoder, texts, workers_of(values), printer));
      HEADRACE_CHECK(context.console.flush());  // a program may wait for it before it writes on
    }
  }
  return printer.finish();
}

Status predict_given_images(CommandContext& context, const Location& run, const OptionValues& values) {
  constexpr std::uint64_t kAtOnce = 32;
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  std::vector<std::string> urls;
  for (const std::string& name : values.list("image")) {
    HEADRACE_TRY(const Location image, context.stores.open(name));
    urls.push_back(image.url.text());
  }
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input, open_image_input(model, urls, context.stores, {}));
  HEADRACE_TRY(const std::unique_ptr<PieceReader> reader, input->open(0, kAtOnce, context.stop));
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  BatchTensors tensors(model.contract.binding.input_features());
  AnswerPrinter printer(context.console, model);
  for (std::size_t done = 0; done < urls.size();) {
    HEADRACE_TRY(const std::optional<PredictRows> rows, reader->next());
    if (!rows) break;
    const std::uint64_t count = std::min<std::uint64_t>(rows->batch.rows, urls.size() - done);
    HEADRACE_TRY(const Answers answers, predictor.run(tensors.view(rows->batch, count), count));
    for (std::size_t i = 0; i < count; ++i) printer.add("image", values.list("image")[done++], answers, i);
  }
  return printer.finish();
}

void show_predictions(Console& console, const Location& output, const PredictResult& result, double seconds) {
  for (const std::string& remark : result.remarks) console.warn(remark);
  if (result.left_out > 0)
    console.warn(concat(result.left_out, " records or rows could not be read and were left out"));
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

Status predict_recorded(CommandContext& context, const Location& run, const Location& data,
                        const Location& output, const OptionValues& values, RunRecorder& recorder,
                        RunEnd& end) {
  HEADRACE_TRY(const PredictionFormat format, parse_prediction_format(values.text("format")));
  const PredictOptions options{
      .workers = workers_of(values), .overwrite = values.flag("overwrite"), .format = format};
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  HEADRACE_CHECK(recorder.add_input("model", model.folder));
  HEADRACE_CHECK(recorder.add_input("data", data, data_version(values)));
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input, open_input(context, model, data, output, values));
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

Status check_predict(const OptionValues& values) {
  if (values.has("text") + values.has("image") + values.has("data") != 1)
    return Error{Code::kInvalidArgument, "give either --text, --image, or --data with --to: what to answer"};
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
  if (values.has("image")) return predict_given_images(context, run, values);
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
    .summary = "Answer texts, rows or the records of a dataset with a trained model",
    .details =
        "Texts are encoded by the encoder of the model's training data, which the run names. Answers to "
        "texts are printed and not recorded. Predictions for --data go to gzipped objects, in the order of "
        "its records or rows. --data takes a dataset, which is read as for training, or what headrace "
        "prepare takes: a table, JSON Lines, texts or images in folders or archives. Rows become the model's "
        "inputs as the rows of its training data did: by the same schema, vocabularies and encoders.\n"
        "\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text \"great acting\" --text \"terrible acting\"\n"
        "  headrace predict s3://datasets/runs/imdb-1 --text - --json < reviews.txt\n"
        "  headrace predict s3://datasets/runs/imdb-1 --data s3://datasets/reviews --to "
        "s3://datasets/answers\n"
        "  headrace predict s3://datasets/runs/cats --image cat.jpg\n"
        "  headrace predict s3://datasets/runs/income --data people.csv --to answers",
    .positionals = kPredictPositionals,
    .options = kPredictOptions,
    .run = run_predict,
    .check = check_predict};

}  // namespace headrace
