#include "headrace/evaluate/evaluate.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

constexpr Positional kEvaluatePositionals[] = {
    {.name = "RUN", .sentence = "A run of headrace train, or a version of a named model."},
};

constexpr Option kEvaluateOptions[] = {
    {.name = "data", .unit = "URL", .sentence = "A dataset that headrace prepare published."},
    kDataVersionOption,
    kSplitOption,
    {.name = "batch-size",
     .type = OptionType::kInteger,
     .default_value = "512",
     .unit = "records",
     .sentence = "Records per batch.",
     .minimum = 1,
     .maximum = 1'000'000},
    kOnCorruptOption,
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "Memory for reading ahead.",
     .minimum = 1'000'000},
    kTrackOption,
    kRunIdOption,
};

std::string pad_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

void show_table(Console& console, const Evaluation& evaluation) {
  std::size_t width = 9;
  for (const std::string& label : evaluation.labels) width = std::max(width, label.size());
  for (const auto& [name, value] : evaluation.metrics) console.result(concat("  ", name, " ", shown(value)));
  if (!evaluation.metrics.contains("accuracy"))
    console.result(concat("  accuracy ", shown(evaluation.confusion.accuracy())));

  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out = "  ";
    for (const std::string& cell : cells) out += pad_left(cell, width) + "  ";
    console.result(out.substr(0, out.size() - 2));
  };
  console.result("");
  line({"", "precision", "recall", "f1", "records"});
  for (std::size_t label = 0; label < evaluation.labels.size(); ++label) {
    const ClassScores scores = evaluation.confusion.scores(label);
    line({evaluation.labels[label], shown(scores.precision), shown(scores.recall), shown(scores.f1),
          concat(scores.support)});
  }
  console.result("\n  true class by row, predicted class by column:");
  std::vector<std::string> head = {""};
  head.insert(head.end(), evaluation.labels.begin(), evaluation.labels.end());
  line(head);
  for (std::size_t truth = 0; truth < evaluation.labels.size(); ++truth) {
    std::vector<std::string> cells = {evaluation.labels[truth]};
    for (std::size_t predicted = 0; predicted < evaluation.labels.size(); ++predicted)
      cells.push_back(concat(evaluation.confusion.count(truth, predicted)));
    line(cells);
  }
}

void show_evaluation(Console& console, const Location& run, const Evaluation& evaluation,
                     const Location& written, const std::string& object, double seconds) {
  for (const std::string& remark : evaluation.remarks) console.warn(remark);
  if (evaluation.corrupt_records > 0)
    console.warn(concat(evaluation.corrupt_records, " corrupt records were left out"));
  if (console.json()) {
    Json document = parse_json(object).value_or(Json());
    document["run"] = run.url.text();
    document["url"] = written.url.text();
    document["seconds"] = seconds;
    document["fetched_bytes"] = evaluation.fetched_bytes;
    console.result(document.dump());
    return;
  }
  console.result(concat(evaluation.model.url, " on split ", evaluation.split, " of ", evaluation.data.url,
                        ": ", evaluation.confusion.records(), " records, ", shown(seconds), " s"));
  show_table(console, evaluation);
  console.result(concat("\n  written to ", written.describe()));
}

constexpr std::uint64_t kEvaluationLimitBytes = 64 << 20;

// An earlier attempt of a run that is started again under its id may have written it.
Status write_evaluation(const Location& to, const std::string& text, const CallOptions& call) {
  const auto created = write_text(*to.store, to.key, text, {.only_if_absent = true, .call = call});
  if (created) return {};
  if (created.error().code != Code::kAlreadyExists) return created.error().in("writing the evaluation");
  HEADRACE_TRY(const ReadObject there, read_object(*to.store, to.key, kEvaluationLimitBytes, call));
  if (as_text(there.data) == text) return {};
  return Error{Code::kFailedPrecondition,
               concat(to.describe(), " holds another result of a run with this id; give another --run-id")};
}

Status evaluate_recorded(CommandContext& context, const Location& run, const Location& data,
                         const OptionValues& values, RunRecorder& recorder, RunEnd& end) {
  const EvaluateOptions options{.split = values.text("split"),
                                .data_version = data_version(values),
                                .batch_size = static_cast<std::uint64_t>(values.integer("batch-size")),
                                .on_corrupt = corruption_policy(values),
                                .memory_budget_bytes = values.size_bytes("memory")};
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model,
               open_exported_model(run, *engine.engine, temporary_folder(context.environment)));
  HEADRACE_CHECK(recorder.add_input("model", model.folder));
  HEADRACE_CHECK(recorder.add_input("data", data, options.data_version));
  const auto on_records = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress("evaluating", done, total, "records");
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(const Evaluation evaluation, evaluate(model, data, options, on_records, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  end.versions = {{"engine", engine.engine->version()}};
  end.metrics = evaluation.metrics;
  end.metrics["accuracy"] = evaluation.confusion.accuracy();
  end.counts = {{"records", evaluation.confusion.records()}, {"corrupt_records", evaluation.corrupt_records}};
  const std::string object = evaluation_to_json(evaluation, recorder.run_id());
  const Location written = run.at(concat("evaluations/", recorder.run_id(), ".json"));
  HEADRACE_CHECK(write_evaluation(written, object + "\n", context.call()));
  HEADRACE_CHECK(recorder.add_output("evaluation", written));
  show_evaluation(context.console, run, evaluation, written, object, seconds.count());
  return {};
}

Status check_evaluate(const OptionValues& values) {
  if (!values.has("data"))
    return Error{Code::kInvalidArgument, "--data is missing: the URL of the dataset to evaluate on"};
  return {};
}

Status run_evaluate(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& values) {
  HEADRACE_TRY(Location run, context.stores.open(arguments[0]));
  run = make_stoppable(std::move(run), context.stop);
  HEADRACE_TRY(Location data, context.stores.open(values.text("data")));
  data = make_stoppable(std::move(data), context.stop);
  return record_run(context, "evaluate", run.at("evaluations"), values,
                    [&](RunRecorder& recorder, RunEnd& end) {
                      return evaluate_recorded(context, run, data, values, recorder, end);
                    },
                    {.continues_earlier = false});
}

}  // namespace

extern const Command kEvaluateCommand;
const Command kEvaluateCommand = {
    .name = "evaluate",
    .summary = "Evaluate a trained model on a split of a dataset",
    .details =
        "Prints loss, accuracy, precision, recall and F1 of each class, and the confusion matrix, and writes "
        "them to RUN/evaluations/.\n"
        "\n"
        "  headrace evaluate s3://datasets/runs/imdb-1 --data s3://datasets/reviews --split test\n"
        "  headrace evaluate s3://datasets/models/imdb/3 --data s3://datasets/reviews --json",
    .positionals = kEvaluatePositionals,
    .options = kEvaluateOptions,
    .run = run_evaluate,
    .check = check_evaluate};

}  // namespace headrace
