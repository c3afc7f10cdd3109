#include "headrace/study/curve_study.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/study/isotonic.h"

namespace headrace {
namespace {

constexpr double kMostRecords = 1e15;  // a larger number counts as never
constexpr double kPlateauGain = 0.02;
constexpr double kIdentifiableWidth = 1.0 / 3;  // share of the current error
constexpr double kWorthwhileShare = 0.2;        // share of the narrowing that the best size gives
constexpr double kSecondsPerHour = 3600;

template <typename Value>
Interval over(const FittedCurves& fitted, const Value& value) {
  std::vector<double> values;
  for (const Curve& curve : fitted.replicates) values.push_back(value(curve));
  return interval_of(std::move(values));
}

// Seconds of training that one more record takes: the slope of a line that does not fall.
std::optional<double> seconds_per_record(const std::vector<CurvePoint>& points) {
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const CurvePoint& point : points) {
    if (point.seconds <= 0) continue;
    count += 1;
    x += point.size;
    y += point.seconds;
    xx += point.size * point.size;
    xy += point.size * point.seconds;
  }
  if (count < 1) return std::nullopt;
  const double spread = xx - x * x / count;
  const double slope = count > 1 && spread > 0 ? (xy - x * y / count) / spread : 0;
  return slope > 0 ? slope : y / x;
}

class Forecaster {
 public:
  Forecaster(const std::vector<CurvePoint>& points, const FittedCurves& fitted, const CurvePrices& prices)
      : fitted_(fitted),
        prices_(prices),
        largest_(points.back().size),
        relative_spread_(points.back().spread / points.back().mean),
        record_s_(seconds_per_record(points)) {}

  Forecast at(double size) const {
    Forecast out{.size = size};
    out.error = over(fitted_, [&](const Curve& curve) { return curve.at(size); });
    out.one_training = one_training(size);
    out.gain = over(fitted_, [&](const Curve& curve) { return curve.at(largest_) - curve.at(size); });
    if (record_s_) out.hours = (size - largest_) * *record_s_ / kSecondsPerHour;
    out.cost = cost(size);
    return out;
  }

  // nullopt without a price. A size that is already measured needs no new records.
  std::optional<double> cost(double size) const {
    const double more = std::max(0.0, size - largest_);
    if (!prices_.per_record && !(prices_.per_hour && record_s_)) return std::nullopt;
    double out = prices_.per_record.value_or(0) * more;
    if (record_s_) out += prices_.per_hour.value_or(0) * more * *record_s_ / kSecondsPerHour;
    return out;
  }

  // The price of one more run at a size: its new records and the whole training.
  double cost_of_run(double size) const {
    double out = prices_.per_record.value_or(0) * std::max(0.0, size - largest_);
    if (record_s_) out += prices_.per_hour.value_or(0) * size * *record_s_ / kSecondsPerHour;
    return out > 0 ? out : size;
  }

  std::optional<double> records_per_hour() const {
    if (!record_s_) return std::nullopt;
    return kSecondsPerHour / *record_s_;
  }

 private:
  // Combines each replicate with one residual, taking all residuals in turn. Assumes the relative spread
  // between seeds at the largest measured size.
  Interval one_training(double size) const {
    const std::vector<double>& residuals = fitted_.residuals;
    const std::size_t count = fitted_.replicates.size();
    std::vector<double> errors;
    for (std::size_t i = 0; i < count; ++i) {
      const double factor = 1 + relative_spread_ * residuals[i * residuals.size() / count];
      errors.push_back(fitted_.replicates[i].at(size) * std::max(factor, kLeastDrawnShare));
    }
    return interval_of(std::move(errors));
  }

  const FittedCurves& fitted_;
  CurvePrices prices_;
  double largest_;
  double relative_spread_;  // standard deviation of one run, relative to the error
  std::optional<double> record_s_;
};

std::optional<Interval> exponent_of(const FittedCurves& fitted) {
  std::vector<double> rates;
  for (const Curve& curve : fitted.replicates) {
    if (curve.form != CurveForm::kExponential) rates.push_back(curve.rate);
  }
  if (2 * rates.size() <= fitted.replicates.size()) return std::nullopt;
  return interval_of(std::move(rates));
}

// Does not use std::hypot, which needs glibc 2.35: wheels promise 2.34.
double difference_standard_error(const CurvePoint& one, const CurvePoint& other) {
  const double first = one.standard_error(), second = other.standard_error();
  return std::sqrt(first * first + second * second);
}

CurveState state_of(const CurveStudy& study) {
  const CurvePoint &first = study.points.front(), &last = study.points.back();
  const double doubt = 2 * difference_standard_error(first, last);
  if (last.mean > first.mean + doubt) return CurveState::kRising;
  if (last.mean > first.mean - doubt) return CurveState::kSmallData;
  const Interval& far = study.forecasts[1].error;
  if (far.high - far.low > kIdentifiableWidth * last.mean) return CurveState::kNotIdentifiable;
  if (study.forecasts[0].gain.high < kPlateauGain * last.mean) return CurveState::kPlateau;
  return CurveState::kFalling;
}

TargetAnswer answer_target(const CurveStudy& study, double target, const Forecaster& forecaster) {
  TargetAnswer out{.error = target};
  const auto size = [&](const Curve& curve) {
    const double needed = curve.size_for(target);
    return needed <= kMostRecords ? needed : std::numeric_limits<double>::infinity();
  };
  out.size = over(study.fitted, size);
  for (const Curve& curve : study.fitted.replicates)
    out.unreachable +=
        std::isinf(size(curve)) ? 1.0 / static_cast<double>(study.fitted.replicates.size()) : 0;
  if (std::isfinite(out.size.middle)) out.cost = forecaster.cost(out.size.middle);
  return out;
}

// The figure that the user asks for: the records for the target if it can be reached, else the error with 5
// times the data.
std::vector<double> asked_values(const CurveStudy& study) {
  std::vector<double> out;
  const bool wants_size = study.target && study.target->unreachable == 0;
  for (const Curve& curve : study.fitted.replicates)
    out.push_back(std::log(
        std::max(1e-300, wants_size ? curve.size_for(study.target->error) : curve.at(5 * study.largest()))));
  return out;
}

// How much one more run at a size narrows the interval of the asked figure. The run would leave
// 1 − ρ²·v/(v + noise) of the variance if all were normal, where v is the replicates' variance at that size,
// and ρ is the correlation with the asked figure.
double narrowing(const CurveStudy& study, const std::vector<double>& asked, double size, double noise) {
  const auto count = static_cast<double>(asked.size());
  double mean = 0, mean_asked = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    mean += study.fitted.replicates[i].at(size) / count;
    mean_asked += asked[i] / count;
  }
  double variance = 0, variance_asked = 0, covariance = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const double x = study.fitted.replicates[i].at(size) - mean, y = asked[i] - mean_asked;
    variance += x * x / count;
    variance_asked += y * y / count;
    covariance += x * y / count;
  }
  if (!(variance_asked > 0)) return 0;
  const double explained = covariance * covariance / (variance_asked * (variance + noise));
  return 1 - std::sqrt(std::max(0.0, 1 - explained));
}

NextSize next_size(const CurveStudy& study, const Forecaster& forecaster) {
  const std::vector<double> asked = asked_values(study);
  std::vector<double> sizes;
  for (const CurvePoint& point : study.points) sizes.push_back(point.size);
  for (const double factor : {2.0, 4.0, 8.0}) sizes.push_back(std::round(factor * study.largest()));
  std::vector<NextSize> candidates;
  double most = 0;
  for (const double size : sizes) {
    const CurvePoint* near = &study.points.front();
    for (const CurvePoint& point : study.points) {
      if (point.size <= size) near = &point;
    }
    candidates.push_back({size, narrowing(study, asked, size, near->spread * near->spread)});
    most = std::max(most, candidates.back().narrows_by);
  }
  NextSize best = candidates.front();
  double best_per_cost = -1;
  for (const NextSize& candidate : candidates) {
    const double per_cost = candidate.narrows_by / forecaster.cost_of_run(candidate.size);
    if (candidate.narrows_by < kWorthwhileShare * most || per_cost <= best_per_cost) continue;
    best_per_cost = per_cost;
    best = candidate;
  }
  return best;
}

void add_remarks(CurveStudy& study) {
  std::size_t repeated = 0;
  for (const CurvePoint& point : study.points) repeated += point.errors.size() > 1 ? 1 : 0;
  const auto say = [&](std::string text) { study.remarks.push_back(std::move(text)); };
  if (repeated == 0)
    say("Each size has one run: the spread between runs is guessed from how smooth the curve is.");
  if (study.points.size() < 5)
    say("The curve has fewer than 5 sizes: it can hardly tell one form from another.");
  for (const double size : study.rising_sizes)
    say(concat("The error does not fall around ", size, " records, by more than noise explains."));
  const Curve& curve = study.fitted.curve();
  std::size_t far = 0;
  for (const CurvePoint& point : study.points)
    far += std::abs(curve.at(point.size) - point.mean) > 3 * point.standard_error() ? 1 : 0;
  if (far > 0)
    say(concat("The ", curve_form_name(study.fitted.chosen), " misses ", far,
               " of the measured sizes by more than three standard errors."));
}

Status check_questions(const CurveQuestions& questions) {
  const auto is_price = [](const std::optional<double>& price) {
    return !price || (std::isfinite(*price) && *price >= 0);
  };
  if (!is_price(questions.prices.per_record) || !is_price(questions.prices.per_hour))
    return Error{Code::kInvalidArgument, "a price must be 0 or more"};
  if (questions.target && !(std::isfinite(*questions.target) && *questions.target > 0))
    return Error{Code::kInvalidArgument, "the target must be an error above 0"};
  return {};
}

}  // namespace

std::string_view curve_state_name(CurveState state) {
  switch (state) {
    case CurveState::kFalling:
      return "falling";
    case CurveState::kSmallData:
      return "small data";
    case CurveState::kPlateau:
      return "plateau";
    case CurveState::kRising:
      return "rising";
    case CurveState::kNotIdentifiable:
      return "not identifiable";
  }
  return "";
}

Result<CurveStudy> study_curve(const std::vector<MeasuredError>& runs, const CurveQuestions& questions) {
  HEADRACE_CHECK(check_questions(questions));
  CurveStudy study;
  HEADRACE_TRY(study.points, summarise_curve(runs));
  study.fitted = fit_curves(study.points, questions.bootstrap);
  if (questions.bootstrap.stop.stop_requested()) return Error{Code::kCancelled, "the bootstrap was stopped"};
  const Forecaster forecaster(study.points, study.fitted, questions.prices);
  for (const double factor : {2.0, 5.0, 10.0})
    study.forecasts.push_back(forecaster.at(factor * study.largest()));
  study.more_records = forecaster.at(study.largest() + questions.more_records);
  if (const std::optional<double> records = forecaster.records_per_hour())
    study.one_hour = forecaster.at(study.largest() + *records);
  study.exponent = exponent_of(study.fitted);
  study.state = state_of(study);
  if (questions.target) study.target = answer_target(study, *questions.target, forecaster);
  study.rising_sizes = sizes_that_rise(study.points);
  study.next = next_size(study, forecaster);
  add_remarks(study);
  return study;
}

CurveComparison compare_curves(const CurveStudy& first, const CurveStudy& second) {
  const std::vector<Curve>&a = first.fitted.replicates, &b = second.fitted.replicates;
  const std::size_t count = std::min(a.size(), b.size());
  const double share = 1 / static_cast<double>(count);
  const double both = std::min(first.largest(), second.largest());
  CurveComparison out;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    CurvePair pair{.size = factor * both};
    std::vector<double> differences;
    for (std::size_t i = 0; i < count; ++i) {
      differences.push_back(a[i].at(pair.size) - b[i].at(pair.size));
      pair.first_is_better += differences.back() < 0 ? share : 0;
    }
    pair.difference = interval_of(std::move(differences));
    out.at.push_back(pair);
  }
  constexpr int kSteps = 200;
  const double low = std::max(first.points.front().size, second.points.front().size);
  const double ratio = std::pow(10 * std::max(first.largest(), second.largest()) / low, 1.0 / kSteps);
  std::vector<double> crossings;
  for (std::size_t i = 0; i < count; ++i) {
    double size = low;
    const bool starts_better = a[i].at(size) < b[i].at(size);
    for (int step = 0; step < kSteps; ++step) {
      size *= ratio;
      if ((a[i].at(size) < b[i].at(size)) == starts_better) continue;
      crossings.push_back(size);
      break;
    }
  }
  out.crosses = static_cast<double>(crossings.size()) * share;
  if (!crossings.empty()) out.crossing = interval_of(std::move(crossings));
  return out;
}

}  // namespace headrace
