// The answers as a sentence and as JSON.

#include <cmath>
#include <cstdio>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/study/curve_study.h"

namespace headrace {
namespace {

// Six significant digits, which agree between machines; null where infinite.
Json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 5).ptr;
  return parse_number<double>(std::string_view(text, end)).value_or(value);
}

Json optional_json(const std::optional<double>& value) { return value ? six_digits(*value) : Json(); }

Json interval_json(const Interval& interval) {
  return {{"median", six_digits(interval.middle)},
          {"low", six_digits(interval.low)},
          {"high", six_digits(interval.high)}};
}

Json forecast_json(const Forecast& forecast) {
  return {{"size", six_digits(forecast.size)},
          {"error", interval_json(forecast.error)},
          {"one_training", interval_json(forecast.one_training)},
          {"gain", interval_json(forecast.gain)},
          {"hours", optional_json(forecast.hours)},
          {"cost", optional_json(forecast.cost)}};
}

Json point_json(const CurvePoint& point) {
  return {{"size", six_digits(point.size)},
          {"runs", point.errors.size()},
          {"mean", six_digits(point.mean)},
          {"spread", six_digits(point.spread)},
          {"seconds", point.seconds > 0 ? six_digits(point.seconds) : Json()}};
}

Json fits_json(const FittedCurves& fitted) {
  Json out = Json::array();
  for (int form = 0; form < kCurveForms; ++form) {
    const Curve& curve = fitted.fits[form].curve;
    const bool is_plateau = curve.form == CurveForm::kPlateau;
    out.push_back(Json{{"form", curve_form_name(curve.form)},
                       {"scale", six_digits(curve.scale)},
                       {"rate", six_digits(curve.rate)},
                       {"floor", six_digits(curve.floor)},
                       {"knee", is_plateau ? six_digits(curve.knee) : Json()},
                       {"sharpness", is_plateau ? six_digits(curve.sharpness) : Json()},
                       {"loss", six_digits(fitted.fits[form].loss)},
                       {"held_out_error", six_digits(fitted.held_out_error[form])},
                       {"share_of_replicates", six_digits(fitted.shares[form])}});
  }
  return out;
}

Json target_json(const TargetAnswer& target) {
  return {{"error", six_digits(target.error)},
          {"size", interval_json(target.size)},
          {"unreachable", six_digits(target.unreachable)},
          {"cost", optional_json(target.cost)}};
}

Json comparison_json(const CurveComparison& comparison) {
  Json at = Json::array();
  for (const CurvePair& pair : comparison.at)
    at.push_back(Json{{"size", six_digits(pair.size)},
                      {"difference", interval_json(pair.difference)},
                      {"first_is_better", six_digits(pair.first_is_better)}});
  return {{"at", at},
          {"crosses", six_digits(comparison.crosses)},
          {"crossing", comparison.crossing ? interval_json(*comparison.crossing) : Json()},
          {"sentence", comparison_sentence(comparison)}};
}

std::string records(double count) {
  if (!std::isfinite(count)) return "no number of";
  return count < 1e15 ? grouped(static_cast<std::uint64_t>(std::llround(count))) : shortened(count);
}

// Rounds to three digits: an interval does not support more.
std::string rounded_records(double count) {
  if (!std::isfinite(count) || count < 1000) return records(count);
  const double unit = std::pow(10, std::floor(std::log10(count)) - 2);
  return records(std::round(count / unit) * unit);
}

std::string between(const Interval& interval) {
  return concat(three_digits(interval.low), " to ", three_digits(interval.high));
}

// Empty if no price is known.
std::string price_clause(const std::optional<double>& cost) {
  return cost ? concat(", for about ", three_digits(*cost)) : "";
}

std::string twice_the_data(const Forecast& twice) {
  return concat("twice the data", price_clause(twice.cost), twice.cost ? "," : "", " makes it ");
}

std::string target_clause(const CurveStudy& study) {
  const TargetAnswer& target = *study.target;
  const std::string goal = concat("an error of ", shortened(target.error));
  if (study.points.back().mean <= target.error) return concat(goal, " is already reached");
  if (target.is_unreachable())
    return concat(goal, " is out of reach with more data alone (", percentage(target.unreachable),
                  " of the replicates never reach it)");
  return concat(goal, " takes about ", rounded_records(target.size.middle), " records (",
                rounded_records(target.size.low), " to ",
                std::isfinite(target.size.high) ? rounded_records(target.size.high) : "never", ")",
                price_clause(target.cost));
}

}  // namespace

std::string curve_sentence(const CurveStudy& study) {
  const Forecast& twice = study.forecasts.front();
  const std::string now = concat("With ", records(study.largest()), " records the error is ",
                                 three_digits(study.points.back().mean));
  std::string out;
  switch (study.state) {
    case CurveState::kRising:
      return concat(now, ", more than with ", records(study.points.front().size),
                    ": the error rises with the data, so nothing is predicted; check whether the score is an "
                    "accuracy.");
    case CurveState::kSmallData:
      return concat(now, ", not clearly less than with ", records(study.points.front().size),
                    ": the model still guesses, so measure larger sizes.");
    case CurveState::kPlateau:
      out = concat(now, " and hardly falls any more: ", twice_the_data(twice), between(twice.error));
      break;
    case CurveState::kNotIdentifiable:
      out = concat(now, "; ", twice_the_data(twice), between(twice.error),
                   ", and these runs do not allow a forecast beyond that: measure ", records(study.next.size),
                   " records next");
      break;
    case CurveState::kFalling:
      out = concat(now, "; ", twice_the_data(twice), three_digits(twice.error.middle), " (",
                   between(twice.error), ")");
      break;
  }
  if (study.target) out += concat("; ", target_clause(study));
  return out + ".";
}

std::string comparison_sentence(const CurveComparison& comparison) {
  const auto verdict = [](const CurvePair& pair) {
    return pair.first_is_better >= 0.95   ? "the first is better"
           : pair.first_is_better <= 0.05 ? "the second is better"
                                          : "neither is clearly better";
  };
  const CurvePair &near = comparison.at.front(), &far = comparison.at.back();
  std::string out = concat("At ", records(near.size), " records ", verdict(near), ", at ", records(far.size),
                           " ", verdict(far));
  // Curves that are equal cross at arbitrary points, so the crossing must be clear.
  const bool is_clear = comparison.crossing && comparison.crosses >= 0.5 &&
                        comparison.crossing->high <= 10 * comparison.crossing->low;
  if (is_clear)
    out += concat("; the curves cross at about ", rounded_records(comparison.crossing->middle), " records (",
                  rounded_records(comparison.crossing->low), " to ",
                  rounded_records(comparison.crossing->high), ")");
  return out + ".";
}

std::string curve_study_to_json(const CurveStudy& study, const CurveComparison* comparison) {
  Json points = Json::array(), forecasts = Json::array(), rising = Json::array(), remarks = Json::array();
  for (const CurvePoint& point : study.points) points.push_back(point_json(point));
  for (const Forecast& forecast : study.forecasts) forecasts.push_back(forecast_json(forecast));
  for (const double size : study.rising_sizes) rising.push_back(six_digits(size));
  for (const std::string& remark : study.remarks) remarks.push_back(remark);
  const Json out = {
      {"format", "headrace.learning-curve"},
      {"version", 1},
      {"sentence", curve_sentence(study)},
      {"state", curve_state_name(study.state)},
      {"form", curve_form_name(study.fitted.chosen)},
      {"exponent", study.exponent ? interval_json(*study.exponent) : Json()},
      {"points", points},
      {"fits", fits_json(study.fitted)},
      {"forecasts", forecasts},
      {"more_records", forecast_json(study.more_records)},
      {"one_hour", study.one_hour ? forecast_json(*study.one_hour) : Json()},
      {"target", study.target ? target_json(*study.target) : Json()},
      {"next", {{"size", six_digits(study.next.size)}, {"narrows_by", six_digits(study.next.narrows_by)}}},
      {"rising_sizes", rising},
      {"remarks", remarks},
      {"comparison", comparison ? comparison_json(*comparison) : Json()}};
  return out.dump();
}

}  // namespace headrace
