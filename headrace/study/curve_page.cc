// The page of a learning curve: the answer, and the measurements and fits behind it.

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/page/charts.h"
#include "headrace/page/html.h"
#include "headrace/study/curve_study.h"

namespace headrace {
namespace {

constexpr int kBandSteps = 40;
constexpr double kBandFarthest = 10;  // times the largest size

std::string page_interval(const Interval& interval) {
  return concat(three_digits(interval.low), " to ", three_digits(interval.high));
}

// "–" if there is no number.
std::string page_number(const std::optional<double>& number) { return number ? three_digits(*number) : "–"; }

BandChart::Line curve_line(const CurveStudy& study, std::string_view name) {
  BandChart::Line out{.name = name};
  const double first = study.points.front().size;
  for (int step = 0; step <= kBandSteps; ++step) {
    const double size =
        first * std::pow(kBandFarthest * study.largest() / first, static_cast<double>(step) / kBandSteps);
    std::vector<double> errors;
    for (const Curve& curve : study.fitted.replicates) errors.push_back(curve.at(size));
    const Interval interval = interval_of(std::move(errors));
    out.bands.push_back({size, interval.low, interval.middle, interval.high});
  }
  for (const CurvePoint& point : study.points) {
    for (const double error : point.errors)
      out.points.push_back(
          {point.size, error, concat(shortened(point.size), " records: ", three_digits(error))});
  }
  return out;
}

std::string curve_card(const CurveStudy& study, const CurveStudy* other) {
  BandChart chart{.x = "records", .y = "error", .is_log = true};
  chart.first = curve_line(study, other ? "the first curve" : "90 % of replicates");
  if (other) chart.second = curve_line(*other, "the second curve");
  if (study.target) {
    chart.marked_y = study.target->error;
    chart.has_mark = true;
  }
  return html_card("Error by records", html_band_chart(chart));
}

std::string residual_card(const CurveStudy& study) {
  BandChart chart{.x = "records", .y = "(error − curve) / spread", .marked_y = 0, .has_mark = true};
  chart.first.name = "runs";
  const Curve& curve = study.fitted.curve();
  for (const CurvePoint& point : study.points) {
    for (const double error : point.errors) {
      const double residual = (error - curve.at(point.size)) / point.spread;
      chart.first.points.push_back({point.size, residual, three_digits(residual)});
    }
  }
  return html_card(
      "Residuals",
      html_hint(concat("From the ", curve_form_name(study.fitted.chosen),
                       ", in standard deviations of one run. A pattern shows that the form is wrong.")) +
          html_band_chart(chart));
}

std::string forecast_card(const CurveStudy& study) {
  std::vector<std::string> rows;
  const auto add = [&](std::string_view name, const Forecast& forecast) {
    rows.push_back(html_row({html_escaped(name), shortened(std::round(forecast.size)),
                             three_digits(forecast.error.middle), page_interval(forecast.error),
                             page_interval(forecast.one_training), three_digits(forecast.gain.middle),
                             page_number(forecast.hours), page_number(forecast.cost)}));
  };
  add("more records", study.more_records);
  if (study.one_hour) add("one hour more", *study.one_hour);
  const char* const names[] = {"2 times the data", "5 times", "10 times"};
  for (std::size_t i = 0; i < study.forecasts.size(); ++i) add(names[i], study.forecasts[i]);
  return html_card("What more data would buy", html_table({"", "records", "error", "90 % interval",
                                                           "one training", "falls by", "hours", "cost"},
                                                          rows));
}

std::string form_card(const CurveStudy& study) {
  std::vector<std::string> rows;
  for (int form = 0; form < kCurveForms; ++form) {
    const CurveFit& fit = study.fitted.fits[form];
    rows.push_back(
        html_row({html_escaped(curve_form_name(fit.curve.form)), three_digits(fit.curve.rate),
                  three_digits(fit.curve.floor), three_digits(fit.loss),
                  three_digits(study.fitted.held_out_error[form]), percentage(study.fitted.shares[form])}));
  }
  return html_card(
      "Forms",
      html_hint("Held out: how far the form misses the largest size when it is fitted without that size.") +
          html_table({"form", "rate", "floor", "loss", "held out", "replicates"}, rows));
}

std::string facts_of(const CurveStudy& study) {
  std::string out =
      html_fact(three_digits(study.points.back().mean), "error now") +
      html_fact(std::string(curve_state_name(study.state)), "state") +
      html_fact(three_digits(study.forecasts.front().error.middle), "error with twice the data");
  if (study.exponent) out += html_fact(page_interval(*study.exponent), "exponent, 90 % interval");
  out += html_fact(shortened(study.next.size), "records to measure next");
  return html_element("div", out, "facts");
}

}  // namespace

std::string curve_study_to_html(const CurveStudy& study, const CurveStudy* other,
                                const CurveComparison* comparison) {
  std::string body =
      html_element("h1", "Learning curve") + html_element("p", html_escaped(curve_sentence(study)));
  if (comparison) body += html_element("p", html_escaped(comparison_sentence(*comparison)));
  body += facts_of(study) + html_warnings(study.remarks) + curve_card(study, other) + forecast_card(study) +
          residual_card(study) + form_card(study);
  return html_document("Learning curve", body);
}

}  // namespace headrace
