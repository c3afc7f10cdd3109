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
  kSmallData,        // the largest size is not clearly better than the smallest: the model still guesses
  kPlateau,          // twice the data reduces the error by less than 2 %
  kRising,           // the error at the largest size is clearly above that at the smallest
  kNotIdentifiable,  // the interval at five times the data is wider than a third of the error now
};
/// "falling", "small data", "plateau", "rising", "not identifiable".
std::string_view curve_state_name(CurveState state);

/// The predicted error at a size, and the cost of getting there from the largest measured size.
struct Forecast {
  double size = 0;
  Interval error;               // the mean error of many trainings
  Interval one_training;        // the error of a single training: wider, because seeds differ
  Interval gain;                // the decrease of the error
  std::optional<double> hours;  // the additional training time; nullopt if no run has a known time
  std::optional<double> cost;   // of records and hours, as far as prices are given
};

struct TargetAnswer {
  double error = 0;
  Interval size;               // records; infinite where the target is below the floor
  double unreachable = 0;      // share of the replicates that never reach the target
  std::optional<double> cost;  // from the largest measured size to size.middle
  /// Whether more than half of the replicates never reach the target.
  bool is_unreachable() const { return unreachable > 0.5; }
};

/// The size to measure next: one more run there narrows the interval most per cost, among the sizes that
/// narrow it at least a fifth as much as the best one. The interval is that of the records for the target, if
/// there is a target that every replicate reaches, else that of the error at 5 times the data.
struct NextSize {
  double size = 0;
  double narrows_by = 0;  // as a share of the interval's width
};

struct CurveStudy {
  std::vector<CurvePoint> points;
  FittedCurves fitted;
  CurveState state = CurveState::kFalling;
  std::optional<Interval> exponent;  // nullopt if most replicates are exponential
  std::vector<Forecast> forecasts;   // at 2, 5 and 10 times the largest size
  Forecast more_records;             // with CurveQuestions::more_records additional records
  std::optional<Forecast> one_hour;  // with as many additional records as one more hour can train on
  std::optional<TargetAnswer> target;
  NextSize next;
  std::vector<double> rising_sizes;  // as sizes_that_rise (isotonic.h)
  std::vector<std::string> remarks;  // sentences for people

  double largest() const { return points.back().size; }
};

/// Fits the curve and answers the questions. Pure: the same runs, questions and seed give the same study;
/// numbers agree between machines to six digits. Cost: about 0.2 s, and about 60 KB for the replicates.
/// \error kInvalidArgument  as summarise_curve; a target or price out of range
/// \error kCancelled        `questions.bootstrap.stop` was requested
Result<CurveStudy> study_curve(const std::vector<MeasuredError>& runs, const CurveQuestions& questions);

/// Compares two curves at one size.
struct CurvePair {
  double size = 0;
  Interval difference;         // error of the first − error of the second
  double first_is_better = 0;  // share of the replicates in which it is
};

struct CurveComparison {
  std::vector<CurvePair> at;         // at the largest size of both, and at 2, 5 and 10 times that size
  std::optional<Interval> crossing;  // records at which they cross, over the replicates that do
  double crosses = 0;  // share of replicates that cross between the smallest size and 10 times the largest
};

/// Compares the replicates of two studies, pair by pair. REQUIRES: the studies have different seeds
CurveComparison compare_curves(const CurveStudy& first, const CurveStudy& second);

/// The answer in one sentence.
std::string curve_sentence(const CurveStudy& study);
/// Which curve is better and where they cross, in one sentence.
std::string comparison_sentence(const CurveComparison& comparison);
/// The JSON of docs/formats/learning-curve.md, without a final newline. `comparison` may be null.
std::string curve_study_to_json(const CurveStudy& study, const CurveComparison* comparison);
/// The HTML page: sentence, curve with band, residuals, tables. Pass `other` and `comparison` together, or
/// null for both.
std::string curve_study_to_html(const CurveStudy& study, const CurveStudy* other,
                                const CurveComparison* comparison);

}  // namespace headrace
