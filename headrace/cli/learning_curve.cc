// `learning-curve`: what more data would buy, from scores measured at several sizes.

#include <cmath>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/text_table.h"
#include "headrace/page/html.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/study/curve_study.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

constexpr std::uint64_t kCurveFileBytes = 4 << 20;

constexpr Option kLearningCurveOptions[] = {
    {.name = "from",
     .unit = "URL",
     .sentence = "A CSV file with the columns size and score, and, if known, seed and seconds."},
    {.name = "compare", .unit = "URL", .sentence = "A second file: which curve is better, and at what size."},
    {.name = "metric",
     .default_value = "error",
     .sentence = "The score: an error or a loss (smaller is better), or an accuracy from 0 to 1.",
     .choices = "error|accuracy"},
    {.name = "target",
     .type = OptionType::kNumber,
     .sentence = "The score to reach: how many records does it take?"},
    {.name = "price-per-record",
     .type = OptionType::kNumber,
     .sentence = "Price of one more record, in any currency.",
     .minimum = 0},
    {.name = "price-per-hour",
     .type = OptionType::kNumber,
     .sentence = "Price of an hour of training, in the same currency; it needs the column seconds.",
     .minimum = 0},
    {.name = "more-records",
     .type = OptionType::kInteger,
     .default_value = "10000",
     .unit = "records",
     .sentence = "Say what this many more records would buy.",
     .minimum = 1,
     .maximum = 1e12},
    {.name = "seed",
     .type = OptionType::kInteger,
     .default_value = "1",
     .sentence = "Seed of the bootstrap.",
     .minimum = 0},
    {.name = "replicates",
     .type = OptionType::kInteger,
     .default_value = "1000",
     .sentence = "Replicates of the bootstrap.",
     .minimum = 100,
     .maximum = 20'000},
    {.name = "to",
     .unit = "URL",
     .sentence =
         "Folder to create report.html and learning-curve.json in. Nothing that is there is replaced."},
};

CurveMetric curve_metric(const OptionValues& values) {
  return values.text("metric") == "accuracy" ? CurveMetric::kAccuracy : CurveMetric::kError;
}

std::optional<double> given_number(const OptionValues& values, std::string_view name) {
  if (!values.has(name)) return std::nullopt;
  return values.number(name);
}

CurveQuestions curve_questions(const OptionValues& values) {
  CurveQuestions out{.target = given_number(values, "target"),
                     .prices = {.per_record = given_number(values, "price-per-record"),
                                .per_hour = given_number(values, "price-per-hour")},
                     .more_records = static_cast<double>(values.integer("more-records"))};
  if (out.target && curve_metric(values) == CurveMetric::kAccuracy) out.target = 1 - *out.target;
  out.bootstrap.seed = static_cast<std::uint64_t>(values.integer("seed"));
  out.bootstrap.replicates = static_cast<int>(values.integer("replicates"));
  return out;
}

Result<CurveStudy> study_file(CommandContext& context, const std::string& url, const OptionValues& values,
                              const CurveQuestions& questions) {
  HEADRACE_TRY(const Location file, context.stores.open(url));
  const auto study = [&]() -> Result<CurveStudy> {
    HEADRACE_TRY(const ReadObject read,
                 read_object(*file.store, file.key, kCurveFileBytes, {.stop = context.stop}));
    HEADRACE_TRY(const auto runs, parse_curve_csv(as_text(read.data), curve_metric(values)));
    return study_curve(runs, questions);
  }();
  if (!study) return Error(study.error()).in(file.describe());
  return study;
}

std::string interval_cell(const Interval& interval) {
  return concat(three_digits(interval.low), " to ", three_digits(interval.high));
}

std::string cell_or_dash(const std::optional<double>& number) { return number ? three_digits(*number) : "-"; }

std::vector<std::string> forecast_cells(std::string name, const Forecast& forecast) {
  return {std::move(name),
          shortened(std::round(forecast.size)),
          three_digits(forecast.error.middle),
          interval_cell(forecast.error),
          three_digits(forecast.gain.middle),
          cell_or_dash(forecast.hours),
          cell_or_dash(forecast.cost)};
}

void show_forecasts(Console& console, const CurveStudy& study, const OptionValues& values) {
  std::vector<std::vector<std::string>> rows = {
      {"", "records", "error", "90 % interval", "falls by", "hours", "cost"}};
  rows.push_back(forecast_cells(concat("+", values.integer("more-records"), " records"), study.more_records));
  if (study.one_hour) rows.push_back(forecast_cells("+1 hour of training", *study.one_hour));
  const char* const names[] = {"2 times the data", "5 times the data", "10 times the data"};
  for (std::size_t i = 0; i < study.forecasts.size(); ++i)
    rows.push_back(forecast_cells(names[i], study.forecasts[i]));
  for (const std::string& line : table_lines(rows, Align::kRight)) console.result("  " + line);
}

void show_study(Console& console, const CurveStudy& study, const OptionValues& values) {
  for (const std::string& remark : study.remarks) console.warn(remark);
  console.result(curve_sentence(study) + "\n");
  show_forecasts(console, study, values);
  console.result("");
  if (study.exponent)
    console.result(concat("  exponent ", three_digits(study.exponent->middle), " (",
                          interval_cell(*study.exponent), "), ", curve_form_name(study.fitted.chosen)));
  if (study.target && study.target->cost)
    console.result(concat("  the target costs about ", three_digits(*study.target->cost)));
  console.result(concat("  measure next: one more run with ", shortened(study.next.size),
                        " records, which narrows the interval by about ", percentage(study.next.narrows_by)));
}

Status create_part(const Location& folder, std::string_view name, const std::string& text) {
  Status created = create_once(folder.at(name), as_bytes(text));
  if (created || created.error().code != Code::kFailedPrecondition) return created;
  return Error{Code::kFailedPrecondition,
               concat(folder.at(name).describe(),
                      " is of another learning curve; give another folder, or remove that one")};
}

// The page goes first: whoever finds the document finds its page.
Status write_curve(CommandContext& context, const std::string& folder, const std::string& page,
                   const std::string& json) {
  HEADRACE_TRY(Location to, context.stores.open(folder));
  to = make_stoppable(std::move(to), context.stop);
  HEADRACE_CHECK(create_part(to, "report.html", page));
  HEADRACE_CHECK(create_part(to, "learning-curve.json", json + "\n"));
  context.console.note(concat("the page is ", to.at("report.html").describe()));
  return {};
}

Status check_learning_curve(const OptionValues& values) {
  if (!values.has("from"))
    return Error{Code::kInvalidArgument, "--from is missing: a CSV file with the columns size and score"};
  if (values.has("target") && curve_metric(values) == CurveMetric::kAccuracy &&
      !(values.number("target") < 1))
    return Error{Code::kInvalidArgument, "--target is an accuracy, so it must be below 1"};
  if (values.has("target") && curve_metric(values) == CurveMetric::kError && !(values.number("target") > 0))
    return Error{Code::kInvalidArgument, "--target is an error, so it must be above 0"};
  return {};
}

Status run_learning_curve(CommandContext& context, const std::vector<std::string>&,
                          const OptionValues& values) {
  CurveQuestions questions = curve_questions(values);
  questions.bootstrap.stop = context.stop;
  HEADRACE_TRY(const CurveStudy study, study_file(context, values.text("from"), values, questions));
  std::optional<CurveStudy> other;
  std::optional<CurveComparison> comparison;
  if (values.has("compare")) {
    ++questions.bootstrap.seed;
    HEADRACE_TRY(other, study_file(context, values.text("compare"), values, questions));
    comparison = compare_curves(study, *other);
  }
  const CurveComparison* compared = comparison ? &*comparison : nullptr;
  const std::string json = curve_study_to_json(study, compared);
  if (context.console.json()) {
    context.console.result(json);
  } else {
    show_study(context.console, study, values);
    if (compared) context.console.result("  " + comparison_sentence(*compared));
  }
  if (!values.has("to")) return {};
  return write_curve(context, values.text("to"),
                     curve_study_to_html(study, other ? &*other : nullptr, compared), json);
}

}  // namespace

extern const Command kLearningCurveCommand;
const Command kLearningCurveCommand = {
    .name = "learning-curve",
    .summary = "Say what more data would buy, from scores measured at several sizes",
    .details =
        "Fits a power law, with floor and plateau, or an exponential to the scores. It says what error 2, 5 "
        "and 10 times the data would bring, how many records a target needs, what they cost, and which size "
        "to measure next. Every figure has a 90 % interval. docs/how-to/learning-curves.md explains it.\n"
        "\n"
        "  headrace learning-curve --from curve.csv --target 0.20 --price-per-record 0.05\n"
        "  headrace learning-curve --from old.csv --compare new.csv --to s3://datasets/curves/cleaning",
    .options = kLearningCurveOptions,
    .run = run_learning_curve,
    .check = check_learning_curve};

}  // namespace headrace
