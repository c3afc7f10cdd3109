// `learning-curve`: what more data would buy, from scores at several sizes that it measures or reads.

#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/curve_answers.h"
#include "headrace/cli/measure_curve.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/train_options.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/study/curve_study.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

constexpr std::uint64_t kCurveFileBytes = 4 << 20;

constexpr Positional kLearningCurvePositionals[] = {
    {.name = "DATASET",
     .sentence = "A dataset that headrace prepare published: the model is trained on parts of it.",
     .required = false}};

constexpr Option kLearningCurveOptions[] = {
    {.name = "model",
     .unit = "MODULE:FUNCTION",
     .sentence = "Python function, or FILE.py:FUNCTION, that returns a compiled Keras model to train."},
    {.name = "from",
     .unit = "URL",
     .sentence =
         "In place of DATASET and --model: a CSV file with the columns size and score, and, if known, "
         "seed and seconds."},
    {.name = "compare", .unit = "URL", .sentence = "A second file: which curve is better, and at what size."},
    kCurveMetricOption,
    kCurveTargetOption,
    kPricePerRecordOption,
    {.name = "price-per-hour",
     .type = OptionType::kNumber,
     .sentence =
         "Price of an hour of training, in the same currency; of a file, it needs the column seconds.",
     .minimum = 0},
    kMoreRecordsOption,
    kBootstrapSeedOption,
    kReplicatesOption,
    {.name = "to",
     .unit = "URL",
     .sentence =
         "Folder to create report.html and learning-curve.json in. With DATASET, it also gets the scores, "
         "which later calls with this folder take from there; default: only scores, in the user's "
         "cache. Nothing that is there is replaced."},
    kSizesOption,
    kSeedsOption,
    kAtOnceOption,
    kTestSplitOption,
    kEpochsOption,
    kTrainBatchSizeOption,
    kValidationOption,
    kLearningRateOption,
    kEarlyStopOption,
    kDataVersionOption,
    kTrainSplitOption,
    kTrainFeaturesOption,
    kTrainLabelsOption,
    kBalanceOption,
    kBucketOption,
    kWeightsOption,
    kClassWeightsOption,
    kAugmentOption,
    kImageSizeOption,
    kOnCorruptOption,
    kTrainMemoryOption,
    kLoaderThreadsOption,
    kIntraOpThreadsOption,
    kTrackOption,
    kRunIdOption,
};

Result<std::vector<MeasuredError>> read_curve_file(CommandContext& context, const Location& file,
                                                   const OptionValues& values) {
  const auto read = read_object(*file.store, file.key, kCurveFileBytes, {.stop = context.stop});
  if (!read) return read.error();
  auto runs = parse_curve_csv(as_text(read->data), curve_metric(values));
  if (!runs) return Error(runs.error()).in(file.describe());
  return runs;
}

Result<CurveStudy> study_file(CommandContext& context, const std::string& url, const OptionValues& values,
                              const CurveQuestions& questions) {
  HEADRACE_TRY(const Location file, context.stores.open(url));
  HEADRACE_TRY(const std::vector<MeasuredError> runs, read_curve_file(context, file, values));
  auto study = study_curve(runs, questions);
  if (!study) return Error(study.error()).in(file.describe());
  return study;
}

Status create_part(const Location& folder, std::string_view name, const std::string& text) {
  Status created = create_once(folder.at(name), as_bytes(text));
  if (created || created.error().code != Code::kFailedPrecondition) return created;
  return Error{Code::kFailedPrecondition,
               concat(folder.at(name).describe(),
                      " is of another learning curve; give another folder, or remove that one")};
}

struct CurveAnswer {
  CurveStudy study;
  std::optional<CurveStudy> other{};
  std::optional<CurveComparison> comparison{};

  const CurveComparison* compared() const { return comparison ? &*comparison : nullptr; }
  std::string json() const { return curve_study_to_json(study, compared()); }
  std::string page() const { return curve_study_to_html(study, other ? &*other : nullptr, compared()); }
};

// With --compare, also reads and studies that curve.
Result<CurveAnswer> answer_curve(CommandContext& context, CurveStudy study, const OptionValues& values,
                                 CurveQuestions questions) {
  CurveAnswer out{.study = std::move(study)};
  if (!values.has("compare")) return out;
  ++questions.bootstrap.seed;
  HEADRACE_TRY(out.other, study_file(context, values.text("compare"), values, questions));
  out.comparison = compare_curves(out.study, *out.other);
  return out;
}

void show_answer(Console& console, const CurveAnswer& answer, const OptionValues& values) {
  if (console.json()) return console.result(answer.json());
  show_study(console, answer.study, values);
  if (answer.comparison) console.result("  " + comparison_sentence(*answer.comparison));
}

// The page goes first: whoever finds the document finds its page.
Status write_curve(CommandContext& context, const Location& folder, const CurveAnswer& answer) {
  const Location to = make_stoppable(folder, context.stop);
  HEADRACE_CHECK(create_part(to, "report.html", answer.page()));
  HEADRACE_CHECK(create_part(to, "learning-curve.json", answer.json() + "\n"));
  context.console.note(concat("the page is ", to.at("report.html").describe()));
  return {};
}

Status check_learning_curve(const OptionValues& values) {
  if (values.has("from") == values.has("model"))
    return Error{
        Code::kInvalidArgument,
        values.has("from")
            ? "--from and --model: give a file of scores, or a model to train, not both"
            : "--from is missing: a CSV file with the columns size and score; or DATASET and --model"};
  HEADRACE_CHECK(check_curve_questions(values));
  return check_shared_train_options(values);
}

Status answer_from_file(CommandContext& context, const OptionValues& values,
                        const CurveQuestions& questions) {
  HEADRACE_TRY(CurveStudy study, study_file(context, values.text("from"), values, questions));
  HEADRACE_TRY(const CurveAnswer answer, answer_curve(context, std::move(study), values, questions));
  show_answer(context.console, answer, values);
  if (!values.has("to")) return {};
  HEADRACE_TRY(const Location folder, context.stores.open(values.text("to")));
  return write_curve(context, folder, answer);
}

// Each run has a folder of its own for what it says: another call, with more scores, says something else.
Status write_report(CommandContext& context, const Location& folder, const MeasuredCurve& measured,
                    const CurveAnswer& answer, RunRecorder& recorder) {
  const Location report = folder.at("reports/" + recorder.run_id());
  HEADRACE_CHECK(create_part(make_stoppable(report, context.stop), "scores.csv", measured.csv));
  HEADRACE_CHECK(write_curve(context, report, answer));
  HEADRACE_CHECK(recorder.add_output("scores", report.at("scores.csv")));
  HEADRACE_CHECK(recorder.add_output("page", report.at("report.html")));
  return recorder.add_output("learning-curve", report.at("learning-curve.json"));
}

Status answer_by_training(CommandContext& context, const std::string& dataset, const OptionValues& values,
                          const CurveQuestions& questions) {
  HEADRACE_TRY(Location data, context.stores.open(dataset));
  data = make_stoppable(std::move(data), context.stop);
  if (values.has("compare")) {  // a wrong file is told before anything is trained
    HEADRACE_TRY(const Location file, context.stores.open(values.text("compare")));
    HEADRACE_CHECK(read_curve_file(context, file, values));
  }
  const bool has_folder = values.has("to");
  const std::string cache = cache_folder(context.environment).value_or("./.cache/headrace");
  HEADRACE_TRY(const Location folder,
               context.stores.open(has_folder ? values.text("to") : cache + "/learning-curves"));
  return record_run(
      context, "learning-curve", has_folder ? folder : data, values,
      [&](RunRecorder& recorder, RunEnd& end) -> Status {
        HEADRACE_TRY(const MeasuredCurve measured,
                     measure_curve(context, data, folder, values, recorder, end));
        HEADRACE_TRY(CurveStudy study, study_curve(measured.runs, questions));
        HEADRACE_TRY(const CurveAnswer answer, answer_curve(context, std::move(study), values, questions));
        end.metrics = {{"error", answer.study.points.back().mean},
                       {"error_with_twice_the_data", answer.study.forecasts.front().error.middle}};
        show_answer(context.console, answer, values);
        return has_folder ? write_report(context, folder, measured, answer, recorder) : Status{};
      },
      {.continues_earlier = false, .has_output = has_folder});
}

Status run_learning_curve(CommandContext& context, const std::vector<std::string>& arguments,
                          const OptionValues& values) {
  CurveQuestions questions = curve_questions(values);
  questions.bootstrap.stop = context.stop;
  if (arguments.empty() == values.has("model"))
    return Error{Code::kInvalidArgument, arguments.empty()
                                             ? "--model needs a DATASET to train it on"
                                             : "--from takes scores from a file: leave DATASET out"};
  return arguments.empty() ? answer_from_file(context, values, questions)
                           : answer_by_training(context, arguments[0], values, questions);
}

}  // namespace

extern const Command kLearningCurveCommand;
const Command kLearningCurveCommand = {
    .name = "learning-curve",
    .summary = "Say what more data would buy, from scores at several sizes",
    .details =
        "Trains the model on all records, half of them, a quarter and so on, several times each, and "
        "evaluates it "
        "on the test split; or takes such scores from a file. Scores are kept: a second call only trains "
        "what is "
        "new, a killed call goes on, and several calls share the work.\n"
        "Fits a power law, with floor and plateau, or an exponential to the scores. It says what error 2, 5 "
        "and 10 times the data would bring, how many records a target needs, what they cost, and which size "
        "to measure next. Every figure has a 90 % interval. docs/how-to/learning-curves.md explains it.\n"
        "\n"
        "  headrace learning-curve s3://datasets/reviews --model mine.py:build --target 0.20\n"
        "  headrace learning-curve data --model mine.py:build --to s3://datasets/curves/mine\n"
        "  headrace learning-curve --from curve.csv --target 0.20 --price-per-record 0.05\n"
        "  headrace learning-curve --from old.csv --compare new.csv --to s3://datasets/curves/cleaning",
    .positionals = kLearningCurvePositionals,
    .options = kLearningCurveOptions,
    .run = run_learning_curve,
    .check = check_learning_curve};

}  // namespace headrace
