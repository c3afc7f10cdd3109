#include "headrace/study/bootstrap.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace headrace {
namespace {

// Three runs of each size, a fixed share above and below the curve.
std::vector<CurvePoint> bootstrap_points(double noise) {
  std::vector<MeasuredError> runs;
  for (double size = 100; size <= 6400; size *= 2) {
    const double error = 0.05 + 3 * std::pow(size, -0.5);
    for (const double side : {-1.0, 0.1, 0.9}) runs.push_back({size, error * (1 + noise * side)});
  }
  return *summarise_curve(runs);
}

TEST(FitCurves, RepeatsItselfToTheLastBit) {
  const auto points = bootstrap_points(0.03);
  const FittedCurves first = fit_curves(points, {.seed = 7, .replicates = 100});
  const FittedCurves again = fit_curves(points, {.seed = 7, .replicates = 100});
  const FittedCurves other = fit_curves(points, {.seed = 8, .replicates = 100});
  bool differs = false;
  for (std::size_t i = 0; i < first.replicates.size(); ++i) {
    EXPECT_EQ(first.replicates[i].at(10'000), again.replicates[i].at(10'000));
    differs = differs || first.replicates[i].at(10'000) != other.replicates[i].at(10'000);
  }
  EXPECT_TRUE(differs) << "another seed draws other runs";
}

TEST(FitCurves, AReplicateDoesNotDependOnHowManyThereAre) {
  const auto points = bootstrap_points(0.03);
  const FittedCurves few = fit_curves(points, {.replicates = 20});
  const FittedCurves many = fit_curves(points, {.replicates = 40});
  for (std::size_t i = 0; i < few.replicates.size(); ++i)
    EXPECT_EQ(few.replicates[i].rate, many.replicates[i].rate);
}

TEST(FitCurves, IsWiderTheMoreTheRunsDiffer) {
  const auto width = [](double noise) {
    const FittedCurves fitted = fit_curves(bootstrap_points(noise), {.replicates = 200});
    std::vector<double> errors;
    for (const Curve& curve : fitted.replicates) errors.push_back(curve.at(12'800));
    const Interval interval = interval_of(errors);
    EXPECT_LE(interval.low, interval.middle);
    EXPECT_LE(interval.middle, interval.high);
    return interval.high - interval.low;
  };
  EXPECT_GT(width(0.08), 2 * width(0.01));
}

TEST(FitCurves, PredictsTheHeldOutSizeOfTheTrueForm) {
  const FittedCurves fitted = fit_curves(bootstrap_points(0.001), {.replicates = 20});
  EXPECT_EQ(fitted.chosen, CurveForm::kPowerFloor);
  const auto miss = [&](CurveForm form) { return std::abs(fitted.held_out_error[static_cast<int>(form)]); };
  EXPECT_LT(miss(CurveForm::kPowerFloor), 0.002);
  EXPECT_LT(miss(CurveForm::kPowerFloor), miss(CurveForm::kExponential) / 3);
}

TEST(IntervalOf, CountsInfinitiesAsLargest) {
  const double never = std::numeric_limits<double>::infinity();
  std::vector<double> values(60, 1.0);
  values.resize(100, never);
  const Interval interval = interval_of(values);
  EXPECT_EQ(interval.middle, 1);
  EXPECT_EQ(interval.high, never);
}

}  // namespace
}  // namespace headrace
