// `learning-curve`: what more data would buy, from scores at several sizes that it measures or reads.

#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/curve_answers.h"
#include "headrace/cli/curve_report.h"
#include "headrace/cli/measure_curve.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/tensorflow_engine.h"
#include "headrace/cli/train_options.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/study/curve_study.h"

namespace headrace {
namespace {

constexpr std::uint64_t kCurveFileBytes = 4 << 20;

constexpr Positional kLearningCurvePositionals[] = {
    {.name = "DATASET",
     .sentence = "A dataset that headrace prepare published: the model is trained on parts of it.",
     .required = false}};

constexpr Option kLearningCurveOwnOptions[] = {
    {.name = "model",
     .unit = "MODULE:FUNCTION",
     .sentence = "Python function, or FILE.py:FUNCTION, that returns a compiled Keras model to train."},
    {.name = "from",
     .unit = "URL",
     .sentence =
         "In place of DATASET and --model: a CSV file with the columns size and score, and, if known, "
         "seed and seconds."},
    {.name = "compare",
     .unit = "URL",
     .sentence = "Second file: say which curve is better, and at what size."},
    kCurveMetricOption,
    kCurveTargetOption,
    kPricePerRecordOption,
    {.name = "price-per-hour",
     .type = OptionType::kNumber,
     .sentence =
         "Price of one hour of training, in the same currency. With --from, the file needs the column "
         "seconds.",
     .minimum = 0},
    kMoreRecordsOption,
    kBootstrapSeedOption,
    kReplicatesOption,
    {.name = "to",
     .unit = "URL",
     .sentence =
         "Folder to create report.html and learning-curve.json in. With DATASET, the scores are kept there, "
         "too, and later calls with this folder use them; default: only scores are kept, in the user's "
         "cache. Nothing in the folder is replaced."},
    kSizesOption,
    kSeedsOption,
    kStratifyOption,
    kAtOnceOption,
    kTestSplitOption,
};

constexpr auto kLearningCurveOptions = with_shared_train_options(kLearningCurveOwnOptions);

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

// Completes the answer: with --compare, also reads and studies the second curve.
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
  HEADRACE_TRY(const Location page, write_curve(folder, answer, context.stop));
  context.console.note(concat("the page is ", page.describe()));
  return {};
}

Result<MeasuredCurve> measure(CommandContext& context, const Location& data, const Location& folder,
                              const OptionValues& values, RunRecorder& recorder, RunEnd& end) {
  HEADRACE_TRY(const SweepOptions options, sweep_options(data, values));
  HEADRACE_TRY(const OpenEngine engine, open_engine(context));
  HEADRACE_TRY(const TraceOptions trace, trace_options(context, engine));
  const TrainEnvironment environment{*engine.engine, trace, context.environment,
                                     temporary_folder(context.environment),
                                     [&](std::string_view line) { context.console.note(line); }};
  return measure_curve(context, data, folder, options, environment, values.text("metric"), recorder, end);
}

Status answer_by_training(CommandContext& context, const std::string& dataset, const OptionValues& values,
                          const CurveQuestions& questions) {
  HEADRACE_TRY(Location data, context.stores.open(dataset));
  data = make_stoppable(std::move(data), context.stop);
  if (values.has("compare")) {  // reports a wrong file before anything is trained
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
        HEADRACE_TRY(const MeasuredCurve measured, measure(context, data, folder, values, recorder, end));
        HEADRACE_TRY(CurveStudy study, study_curve(measured.runs, questions));
        HEADRACE_TRY(const CurveAnswer answer, answer_curve(context, std::move(study), values, questions));
        end.metrics = {{"error", answer.study.points.back().mean},
                       {"error_with_twice_the_data", answer.study.forecasts.front().error.middle}};
        show_answer(context.console, answer, values);
        if (!has_folder) return {};
        HEADRACE_TRY(const Location page,
                     write_curve_report(folder, measured.csv, answer, recorder, context.stop));
        context.console.note(concat("the page is ", page.describe()));
        return {};
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
        "evaluates it on the test split; or takes such scores from a file. Scores are kept: a second call "
        "trains only new sizes and seeds, the same call continues after a kill, and several calls share the "
        "work.\n"
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
