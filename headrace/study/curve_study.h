#pragma once

/// \file The questions that a learning curve answers. docs/how-to/learning-curves.md explains them.

#include <optional>
#include <string>
#include <vector>

#include "headrace/study/bootstrap.h"

namespace headrace {

struct CurvePrices {
  std::optional<double> per_record;  // ≥ 0, in any currency
  std::optional<double> per_hour;    // ≥ 0, of training
};

struct CurveQuestions {
  std::optional<double> target;  // error, > 0
  CurvePrices prices{};
  double more_records = 10'000;
  BootstrapOptions bootstrap{};
};

enum class CurveState : std::uint8_t {
  kFalling,          // the power law holds: more data helps
  kSmallData,        // no size is better than the smallest: the model still guesses
  kPlateau,          // twice the data makes less than 2 % of the error go away
  kRising,           // the error grows with the data
  kNotIdentifiable,  // the interval at five times the data is wider than a third of the error now
};
/// "falling", "small data", "plateau", "rising", "not identifiable".
std::string_view curve_state_name(CurveState state);

/// The error at some size, and what it takes to get there from the largest measured size.
struct Forecast {
  double size = 0;
  Interval error;               // of the mean of many trainings
  Interval one_training;        // of a single one: wider, since seeds differ
  Interval gain;                // by which the error falls
  std::optional<double> hours;  // by which training takes longer; none if no run says how long it took
  std::optional<double> cost;   // of records and hours, as far as prices are given
};

struct TargetAnswer {
  double error = 0;
  Interval size;               // records; infinite where the target is below the floor
  double unreachable = 0;      // share of the replicates that never reach it
  std::optional<double> cost;  // from the largest measured size to the middle
  /// More than half of the replicates never reach it.
  bool is_unreachable() const { return unreachable > 0.5; }
};

/// The size whose measurement, once, narrows the interval most per cost, of those that narrow it at least a
/// fifth as much as the best one. The interval is that of the target's records, or else of the error at 5
/// times the data.
struct NextSize {
  double size = 0;
  double narrows_by = 0;  // share of the interval's width
};

struct CurveStudy {
  std::vector<CurvePoint> points;
  FittedCurves fitted;
  CurveState state = CurveState::kFalling;
  std::optional<Interval> exponent;  // none if most replicates are exponential
  std::vector<Forecast> forecasts;   // at 2, 5 and 10 times the largest size
  Forecast more_records;             // with `more_records` more
  std::optional<Forecast> one_hour;  // with as many more as one more hour of training takes
  std::optional<TargetAnswer> target;
  NextSize next;
  std::vector<double> rising_sizes;  // isotonic.h
  std::vector<std::string> remarks;  // sentences

  double largest() const { return points.back().size; }
};

/// Fits the curve and answers. Pure: the same runs, questions and seed give the same study; figures agree
/// between machines to six digits. Takes about 0.2 s and memory for the replicates, about 60 KB.
/// \error kInvalidArgument  as summarise_curve; a target or price out of range
/// \error kCancelled        `questions.bootstrap.stop` was requested
Result<CurveStudy> study_curve(const std::vector<MeasuredError>& runs, const CurveQuestions& questions);

/// Two curves at one size.
struct CurvePair {
  double size = 0;
  Interval difference;         // error of the first − error of the second
  double first_is_better = 0;  // share of the replicates
};

struct CurveComparison {
  std::vector<CurvePair> at;         // at the largest size that both reach, and 2, 5 and 10 times that
  std::optional<Interval> crossing;  // records at which they cross, of those replicates that do
  double crosses = 0;  // share of the replicates, from the smallest size to 10 times the largest
};

/// Compares the replicates of two studies, pair by pair. They must have been made with different seeds.
CurveComparison compare_curves(const CurveStudy& first, const CurveStudy& second);

/// The answer in one sentence.
std::string curve_sentence(const CurveStudy& study);
/// Which curve is better and where they cross, in one sentence.
std::string comparison_sentence(const CurveComparison& comparison);
/// docs/formats/learning-curve.md. `comparison` may be null. Ends without a newline.
std::string curve_study_to_json(const CurveStudy& study, const CurveComparison* comparison);
/// The page: sentence, curve with band, residuals, tables. `comparison` may be null; it goes with `other`.
std::string curve_study_to_html(const CurveStudy& study, const CurveStudy* other,
                                const CurveComparison* comparison);

}  // namespace headrace
