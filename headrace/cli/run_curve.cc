// `runs curve`: what more data would buy, from one run of `headrace train --curve`.

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/curve_answers.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/study/one_pass_curve.h"

namespace headrace {
namespace {

constexpr Option kRunCurveOptions[] = {kCurveMetricOption, kCurveTargetOption,   kPricePerRecordOption,
                                       kMoreRecordsOption, kBootstrapSeedOption, kReplicatesOption};

Error no_curve(const RunRecord& run, const std::string& metric, const std::vector<MetricSummary>& summaries) {
  const bool has_one = std::ranges::any_of(
      summaries, [](const MetricSummary& summary) { return summary.name.starts_with("train/curve_"); });
  if (has_one)
    return {Code::kNotFound, concat("the run ", run.id, " has a curve, but without ", metric,
                                    ", which its model does not measure; give --metric loss")};
  return {Code::kNotFound,
          concat("the run ", run.id,
                 " has no curve: headrace train --curve logs one, and headrace learning-curve "
                 "measures one")};
}

// The scored batches of the first epoch, by the number of records that the model had learnt from before.
Result<std::vector<ScoredBatch>> scored_batches(CommandContext& context, const RunRecord& run,
                                                std::string_view metric) {
  HEADRACE_TRY(const RunMetrics metrics, metrics_of(context, run));
  HEADRACE_TRY(const std::vector<MetricSummary> summaries, metrics.summaries());
  const std::string measured = metric == "loss" ? "loss" : "accuracy";
  const std::string name = "train/curve_" + measured;
  const auto found = std::ranges::find(summaries, name, &MetricSummary::name);
  if (found == summaries.end()) return no_curve(run, measured, summaries);
  if (found->points > kMostCurveRuns)
    return Error{Code::kDataLoss, concat(name, " has ", found->points, " points, more than a run logs")};
  HEADRACE_TRY(const MetricSeries series, metrics.read(name, found->rank));
  std::vector<ScoredBatch> out;
  for (std::size_t i = 0; i < series.values.size(); ++i)
    out.push_back(
        {static_cast<double>(series.steps[i]), measured == "loss" ? series.values[i] : 1 - series.values[i]});
  return out;
}

Status run_curve(CommandContext& context, const std::vector<std::string>& arguments,
                 const OptionValues& values) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunRecord run, run_at(context, location, arguments.size() > 1 ? arguments[1] : ""));
  HEADRACE_TRY(const std::vector<ScoredBatch> batches, scored_batches(context, run, values.text("metric")));
  HEADRACE_TRY(const std::vector<MeasuredError> runs, runs_of_one_pass(batches));
  CurveQuestions questions = curve_questions(values);
  questions.bootstrap.stop = context.stop;
  HEADRACE_TRY(CurveStudy study, study_curve(runs, questions));
  study.remarks.insert(study.remarks.begin(), std::string(one_pass_remark()));
  if (context.console.json()) {
    context.console.result(curve_study_to_json(study, nullptr));
  } else {
    show_study(context.console, study, values);
  }
  return {};
}

}  // namespace

extern const Command kRunsCurveCommand;
const Command kRunsCurveCommand = {
    .name = "runs curve",
    .summary = "Say what more data would buy, from one finished run",
    .details =
        "Reads the errors that headrace train --curve logged: those of batches of the first epoch before\n"
        "they were learnt from. It trains nothing. Models that are trained to the end do better, so the\n"
        "errors are bounds from above; headrace learning-curve measures such models.\n"
        "docs/how-to/learning-curves.md explains it.\n"
        "\n"
        "  headrace train s3://datasets/reviews s3://datasets/runs/imdb-1 --curve\n"
        "  headrace runs curve s3://datasets/runs/imdb-1 --target 0.2 --price-per-record 0.05",
    .positionals = kRunPositionals,
    .options = kRunCurveOptions,
    .run = run_curve,
    .check = check_curve_questions};

}  // namespace headrace
