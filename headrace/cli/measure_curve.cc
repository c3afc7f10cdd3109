#include "headrace/cli/measure_curve.h"

#include "headrace/base/text.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/train_options.h"

namespace headrace {
namespace {

constexpr double kLeastMeasuredError = 1e-12;  // MeasuredError::error

// The metric that --metric asks for. The error is 1 minus the accuracy.
Result<double> metric_of_score(const Score& score, std::string_view metric) {
  const std::string name = metric == "loss" ? "loss" : "accuracy";
  const auto found = score.metrics.find(name);
  if (found != score.metrics.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : score.metrics) names.push_back(known);
  return Error{Code::kInvalidArgument,
               concat("--metric ", metric, ": the evaluation gives no ", name, ", only ", join(names, ", "),
                      "; the scores are kept: give --metric loss, and nothing is trained again")};
}

Result<MeasuredCurve> curve_of_scores(const std::vector<Score>& scores, const std::string& metric) {
  MeasuredCurve out{.csv = "size,score,seed,seconds\n"};
  for (const Score& score : scores) {
    HEADRACE_TRY(const double value, metric_of_score(score, metric));
    const double error = metric == "loss" ? value : 1 - value;
    if (!(error >= kLeastMeasuredError))
      return Error{Code::kInvalidArgument,
                   concat("with ", score.records, " records and seed ", score.seed, " the error is ", error,
                          ", which no curve above 0 describes; the scores are kept: give --metric ",
                          metric == "loss" ? "error" : "loss", ", and nothing is trained again")};
    out.runs.push_back({static_cast<double>(score.records), error, score.seconds});
    out.csv += concat(score.records, ",", metric == "error" ? error : value, ",", score.seed, ",",
                      score.seconds, "\n");
  }
  return out;
}

}  // namespace

Result<SweepOptions> sweep_options(const Location& data, const OptionValues& values) {
  SweepOptions out{.test_split = values.text("test-split"),
                   .sizes = static_cast<std::size_t>(values.integer("sizes")),
                   .seeds = static_cast<std::size_t>(values.integer("seeds")),
                   .at_once = static_cast<int>(values.integer("at-once"))};
  if (values.has("stratify")) out.stratify = values.text("stratify");
  HEADRACE_TRY(out.training, shared_train_options(values));
  out.training.seed = 1;
  // No run exists yet that could have begun with another version.
  HEADRACE_TRY(const DataVersion version, choose_data_version(data, data, out.training));
  out.training.data_version = version.number;
  return out;
}

Result<MeasuredCurve> measure_curve(CommandContext& context, const Location& data, const Location& folder,
                                    const SweepOptions& options, const TrainEnvironment& environment,
                                    const std::string& metric, RunRecorder& recorder, RunEnd& end) {
  HEADRACE_CHECK(recorder.add_input("data", data, options.training.data_version));
  const auto on_progress = [&](const SweepProgress& at) {
    context.console.progress("training", at.records, at.total_records, "records",
                             concat(at.scores, " of ", at.total_scores, " runs"));
  };
  HEADRACE_TRY(const SweepResult result,
               measure_sweep(data, folder, options, environment,
                             actor_of(context, "learning-curve", recorder), on_progress, context.stop));
  for (const std::string& remark : result.remarks) context.console.warn(remark);
  context.console.note(concat(result.scores.size(), " scores, ", result.trained,
                              " of them trained now, are in ", folder.at("scores").describe()));
  end.versions = {{"engine", environment.engine.version()}};
  end.counts = {{"scores", result.scores.size()}, {"trained", result.trained}};
  return curve_of_scores(result.scores, metric);
}

}  // namespace headrace
