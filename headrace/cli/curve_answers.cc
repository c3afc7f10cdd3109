#include "headrace/cli/curve_answers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/sparkline.h"
#include "headrace/cli/text_table.h"
#include "headrace/page/html.h"

namespace headrace {
namespace {

// None if the option was not given, or the command has no such option.
std::optional<double> given_number(const OptionValues& values, std::string_view name) {
  const bool is_known = std::ranges::find(values.table(), name, &Option::name) != values.table().end();
  if (!is_known || !values.has(name)) return std::nullopt;
  return values.number(name);
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
          interval_cell(forecast.one_training),
          three_digits(forecast.gain.middle),
          cell_or_dash(forecast.hours),
          cell_or_dash(forecast.cost)};
}

void show_forecasts(Console& console, const CurveStudy& study, const OptionValues& values) {
  std::vector<std::vector<std::string>> rows = {
      {"", "records", "error", "90 % interval", "one training", "falls by", "hours", "cost"}};
  rows.push_back(forecast_cells(concat("+", values.integer("more-records"), " records"), study.more_records));
  if (study.one_hour) rows.push_back(forecast_cells("+1 hour of training", *study.one_hour));
  const char* const names[] = {"2 times the data", "5 times the data", "10 times the data"};
  for (std::size_t i = 0; i < study.forecasts.size(); ++i)
    rows.push_back(forecast_cells(names[i], study.forecasts[i]));
  for (const std::string& line : table_lines(rows, Align::kRight)) console.result("  " + line);
}

// Shows the means at the smallest and at the largest size, and the course between them.
void show_points(Console& console, const CurveStudy& study) {
  std::vector<double> means;
  for (const CurvePoint& point : study.points) means.push_back(point.mean);
  console.result(concat("  ", shortened(std::round(study.points.front().size)),
                        " records: ", three_digits(means.front()), "  ", sparkline(means, means.size()), "  ",
                        shortened(std::round(study.largest())), " records: ", three_digits(means.back()),
                        "\n"));
}

}  // namespace

CurveMetric curve_metric(const OptionValues& values) {
  return values.text("metric") == "accuracy" ? CurveMetric::kAccuracy : CurveMetric::kError;
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

Status check_curve_questions(const OptionValues& values) {
  if (values.has("target") && curve_metric(values) == CurveMetric::kAccuracy &&
      !(values.number("target") < 1))
    return Error{Code::kInvalidArgument, "--target is an accuracy, so it must be below 1"};
  if (values.has("target") && curve_metric(values) == CurveMetric::kError && !(values.number("target") > 0))
    return Error{Code::kInvalidArgument, "--target is an error, so it must be above 0"};
  return {};
}

void show_study(Console& console, const CurveStudy& study, const OptionValues& values) {
  for (const std::string& remark : study.remarks) console.warn(remark);
  console.result(curve_sentence(study) + "\n");
  show_points(console, study);
  show_forecasts(console, study, values);
  console.result("");
  if (study.exponent)
    console.result(concat("  exponent ", three_digits(study.exponent->middle), " (",
                          interval_cell(*study.exponent), "), ", curve_form_name(study.fitted.chosen)));
  console.result(concat("  measure next: one more run with ", shortened(study.next.size),
                        " records, which narrows the interval by about ", percentage(study.next.narrows_by)));
}

}  // namespace headrace
