#include "headrace/evaluate/evaluate.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/open_model.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

constexpr Positional kEvaluatePositionals[] = {
    {.name = "RUN",
     .sentence = "A run of headrace train, a version of a named model, or a SavedModel of another program."},
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
    kSignatureOption,
    kInputFeaturesOption,
    kOutputLabelsOption,
    kLikeOption,
    kOnCorruptOption,
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "Memory for reading ahead.",
     .minimum = 1'000'000},
    {.name = "html",
     .unit = "URL",
     .sentence =
         "Write the page about the evaluation to this URL, and replace an object that is there. Default: "
         "RUN/evaluations/<run id>.html."},
    {.name = "no-records",
     .type = OptionType::kFlag,
     .sentence = "Leave the content of records out of the page, which otherwise shows the ten records that "
                 "are farthest from the truth: texts, thumbnails, numbers."},
    kTrackOption,
    kRunIdOption,
};

constexpr std::uint64_t kEvaluationLimitBytes = 64 << 20;

struct WrittenEvaluation {
  Location object;
  Location page;
  std::string json;  // the text of the object
};

// Creates an object. An earlier attempt of the run, which had the same id, may have created it already.
Status create_or_compare(const Location& to, const std::string& text, const CallOptions& call) {
  const auto created = write_text(*to.store, to.key, text, {.only_if_absent = true, .call = call});
  if (created) return {};
  if (created.error().code != Code::kAlreadyExists) return created.error().in("writing the evaluation");
  HEADRACE_TRY(const ReadObject there, read_object(*to.store, to.key, kEvaluationLimitBytes, call));
  if (as_text(there.data) == text) return {};
  return Error{Code::kFailedPrecondition,
               concat(to.describe(), " holds another result of a run with this id; choose another --run-id")};
}

// The page is written first: anyone who finds the object also finds the page.
Result<WrittenEvaluation> write_evaluation(CommandContext& context, const Location& run,
                                           const Evaluation& evaluation, const OptionValues& values,
                                           const std::string& run_id) {
  WrittenEvaluation out{.object = run.at(concat("evaluations/", run_id, ".json")),
                        .page = run.at(concat("evaluations/", run_id, ".html")),
                        .json = evaluation_to_json(evaluation, run_id)};
  const std::string page = evaluation_to_html(evaluation, run_id);
  if (values.has("html")) {
    HEADRACE_TRY(out.page, context.stores.open(values.text("html")));
    HEADRACE_CHECK(write_text(*out.page.store, out.page.key, page, {.call = context.call()}));
  } else {
    HEADRACE_CHECK(create_or_compare(out.page, page, context.call()));
  }
  HEADRACE_CHECK(create_or_compare(out.object, out.json + "\n", context.call()));
  return out;
}

std::string pad_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Prints lines whose cells have the same width.
class Table {
 public:
  Table(Console& console, const std::vector<std::string>& names) : console_(console) {
    for (const std::string& name : names) width_ = std::max(width_, name.size());
  }
  void line(const std::vector<std::string>& cells) const {
    std::string out = "  ";
    for (const std::string& cell : cells) out += pad_left(cell, width_) + "  ";
    console_.result(out.substr(0, out.size() - 2));
  }

 private:
  Console& console_;
  std::size_t width_ = 9;
};

void show_classes(Console& console, const TargetEvaluation& target) {
  const ConfusionMatrix& confusion = target.confusion.front();
  const Table table(console, target.classes);
  table.line({"", "precision", "recall", "f1", "records"});
  for (std::size_t label = 0; label < target.classes.size(); ++label) {
    const ClassScores scores = confusion.scores(label);
    table.line({target.classes[label], shown(scores.precision), shown(scores.recall), shown(scores.f1),
                concat(scores.support)});
  }
  console.result("\n  true class by row, predicted class by column:");
  std::vector<std::string> head = {""};
  head.insert(head.end(), target.classes.begin(), target.classes.end());
  table.line(head);
  for (std::size_t truth = 0; truth < target.classes.size(); ++truth) {
    std::vector<std::string> cells = {target.classes[truth]};
    for (std::size_t predicted = 0; predicted < target.classes.size(); ++predicted)
      cells.push_back(concat(confusion.count(truth, predicted)));
    table.line(cells);
  }
}

void show_calibration(Console& console, const BinaryScores& scores) {
  console.result("\n  scores, and the share of records that are a yes:");
  const Table table(console, {});
  table.line({"score", "records", "mean", "yes"});
  for (std::size_t i = 0; i < BinaryScores::kBins; ++i) {
    const CalibrationBin& bin = scores.calibration()[i];
    if (bin.records == 0) continue;
    const auto records = static_cast<double>(bin.records);
    table.line({concat("0.", i, " …"), concat(bin.records), shown(bin.score_sum / records),
                shown(static_cast<double>(bin.positives) / records)});
  }
}

void show_labels(Console& console, const TargetEvaluation& target) {
  const Table table(console, target.classes);
  table.line({"", "precision", "recall", "f1", "ROC area", "records"});
  for (std::size_t i = 0; i < target.classes.size(); ++i) {
    const ClassScores scores = target.confusion[i].scores(1);
    table.line({target.classes[i], shown(scores.precision), shown(scores.recall), shown(scores.f1),
                shown(target.scores[i].area_under_roc()), concat(scores.support)});
  }
}

void show_numbers(Console& console, const TargetEvaluation& target) {
  const Table table(console, {"mean residual"});
  table.line({"", "MAE", "RMSE", "R²", "mean residual"});
  for (std::size_t i = 0; i < target.numbers.size(); ++i) {
    const RegressionScores& numbers = target.numbers[i];
    table.line({target.numbers.size() == 1 ? target.label : concat(target.label, "[", i, "]"),
                shown(numbers.mean_absolute_error()), shown(numbers.root_mean_squared_error()),
                shown(numbers.r_squared()), shown(numbers.mean_residual())});
  }
}

void show_worst(Console& console, const TargetEvaluation& target) {
  constexpr std::size_t kShown = 3;  // of the records in the object
  std::size_t shown_records = 0;
  for (const WorstRecord& record : target.worst.records()) {
    if (shown_records == 0) console.result("\n  farthest from the truth:");
    if (++shown_records > kShown) return;
    console.result(concat("  ", describe_truth(target, record), " answered as ",
                          describe_answer(target, record), "  (off by ", shown(record.error), ")  record ",
                          record.record, " of ", record.object));
  }
}

void show_scores(Console& console, const TargetEvaluation& target) {
  switch (target.kind) {
    case TargetKind::kClasses:
      return show_classes(console, target);
    case TargetKind::kBinary:
      console.result(
          concat("  area under the ROC curve ", shown(target.scores.front().area_under_roc()), "\n"));
      show_classes(console, target);
      if (target.meaning != TargetScores::kMargin) show_calibration(console, target.scores.front());
      return;
    case TargetKind::kMultiLabel:
      return show_labels(console, target);
    case TargetKind::kRegression:
      return show_numbers(console, target);
  }
}

void show_table(Console& console, const Evaluation& evaluation) {
  for (const auto& [name, value] : evaluation.metrics) console.result(concat("  ", name, " ", shown(value)));
  if (!evaluation.weights.empty())
    console.result(
        concat("  (", evaluation.weights, " weighs the records in the loss and in weighted metrics)"));
  for (const TargetEvaluation& target : evaluation.targets) {
    if (target.kind != TargetKind::kRegression)
      console.result(concat("  ", accuracy_name(target), " ", shown(target.accuracy())));
    console.result(evaluation.targets.size() == 1 ? "" : concat("\n  ", target.output, ": ", target.label));
    show_scores(console, target);
    show_worst(console, target);
  }
}

void show_evaluation(Console& console, const Location& run, const Evaluation& evaluation,
                     const WrittenEvaluation& written, double seconds) {
  for (const std::string& remark : evaluation.remarks) console.warn(remark);
  if (evaluation.corrupt_records > 0)
    console.warn(concat(evaluation.corrupt_records, " corrupt records were left out"));
  if (console.json()) {
    Json document = parse_json(written.json).value_or(Json());
    document["run"] = run.url.text();
    document["url"] = written.object.url.text();
    document["page"] = written.page.url.text();
    document["seconds"] = seconds;
    document["fetched_bytes"] = evaluation.fetched_bytes;
    console.result(document.dump());
    return;
  }
  console.result(concat(evaluation.model.url, " on split ", evaluation.split, " of ", evaluation.data.url,
                        ": ", evaluation.records, " records, ", shown(seconds), " s"));
  show_table(console, evaluation);
  console.result(concat("\n  written to ", written.object.describe()));
  console.result(concat("  the page is ", written.page.describe()));
}

Status evaluate_recorded(CommandContext& context, const Location& run, const Location& data,
                         const OptionValues& values, RunRecorder& recorder, RunEnd& end) {
  const EvaluateOptions options{.split = values.text("split"),
                                .data_version = data_version(values),
                                .batch_size = static_cast<std::uint64_t>(values.integer("batch-size")),
                                .on_corrupt = corruption_policy(values),
                                .memory_budget_bytes = values.size_bytes("memory"),
                                .shows_records = !values.flag("no-records")};
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const ExportedModel model, open_model(context, run, data, values, *engine.engine, true));
  HEADRACE_CHECK(add_model_input(recorder, model));
  HEADRACE_CHECK(recorder.add_input("data", data, options.data_version));
  const auto on_records = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress("evaluating", done, total, "records");
  };
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_TRY(const Evaluation evaluation, evaluate(model, data, options, on_records, context.stop));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  end.versions = {{"engine", engine.engine->version()}};
  end.metrics = recorded_metrics(evaluation);
  end.counts = {{"records", evaluation.records}, {"corrupt_records", evaluation.corrupt_records}};
  HEADRACE_TRY(const WrittenEvaluation written,
               write_evaluation(context, run, evaluation, values, recorder.run_id()));
  HEADRACE_CHECK(recorder.add_output("page", written.page));
  HEADRACE_CHECK(recorder.add_output("evaluation", written.object));
  show_evaluation(context.console, run, evaluation, written, seconds.count());
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
        "Prints loss and metrics. For classes: precision, recall and F1 of each, and the confusion matrix; "
        "for yes or no also the area under the ROC curve and the calibration; for numbers the mean errors "
        "and R². Writes them to RUN/evaluations/, with a page for people: charts, and the records that are "
        "farthest from the truth. --no-records leaves the content of records out.\n"
        "A SavedModel that Headrace did not write has no loss; its outputs are compared with --labels, in "
        "the way that fits the kinds of label and output.\n"
        "\n"
        "  headrace evaluate s3://datasets/runs/imdb-1 --data s3://datasets/reviews --split test\n"
        "  headrace evaluate s3://datasets/models/imdb/3 --data s3://datasets/reviews --json\n"
        "  headrace evaluate ./saved_model --data s3://datasets/people --features x=age --labels rich",
    .positionals = kEvaluatePositionals,
    .options = kEvaluateOptions,
    .run = run_evaluate,
    .check = check_evaluate};

}  // namespace headrace
