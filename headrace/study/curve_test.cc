#include "headrace/study/curve.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headrace {
namespace {

const std::vector<double> kSizes = {100, 200, 400, 800, 1600, 3200, 6400, 12800};

std::vector<FitPoint> points_of(const Curve& curve) {
  std::vector<FitPoint> out;
  for (const double size : kSizes) {
    const double error = curve.at(size);
    out.push_back({error, 1 / (1e-6 * error * error)});
  }
  return out;
}

constexpr Curve kPowerCurve{.form = CurveForm::kPower, .scale = 3, .rate = 0.4};
constexpr Curve kFloorCurve{.form = CurveForm::kPowerFloor, .scale = 3, .rate = 0.5, .floor = 0.05};
constexpr Curve kKneeCurve{
    .form = CurveForm::kPlateau, .scale = 0.5, .rate = 0.6, .floor = 0.02, .knee = 500, .sharpness = 4};
constexpr Curve kExponentialCurve{
    .form = CurveForm::kExponential, .scale = 0.5, .rate = 0.0005, .floor = 0.1};

TEST(CurveFitter, FindsTheCurveThatMadeThePoints) {
  const CurveFitter fitter(kSizes);
  for (const Curve& truth : {kPowerCurve, kFloorCurve, kKneeCurve, kExponentialCurve}) {
    const CurveFit fit = fitter.fit(truth.form, points_of(truth));
    EXPECT_NEAR(fit.curve.rate / truth.rate, 1, 0.02) << curve_form_name(truth.form);
    EXPECT_NEAR(fit.curve.floor, truth.floor, 0.005) << curve_form_name(truth.form);
    for (const double size : {100.0, 1000.0, 10'000.0, 50'000.0})
      EXPECT_NEAR(fit.curve.at(size) / truth.at(size), 1, 0.02) << curve_form_name(truth.form) << size;
  }
}

TEST(CurveFitter, HasNoNegativeFloorOrScale) {
  const CurveFitter fitter(kSizes);
  // Falls ever faster, and rises.
  std::vector<FitPoint> falling, rising;
  for (const double size : kSizes) {
    falling.push_back({1 - size / 14'000, 1e4});
    rising.push_back({0.1 + size / 14'000, 1e4});
  }
  for (int form = 0; form < kCurveForms; ++form) {
    for (const auto& points : {falling, rising}) {
      const Curve curve = fitter.fit(static_cast<CurveForm>(form), points).curve;
      EXPECT_GE(curve.scale, 0);
      EXPECT_GE(curve.floor, 0);
      EXPECT_TRUE(std::isfinite(curve.at(1e6)));
    }
  }
}

TEST(Curve, SizeForIsTheInverse) {
  for (const Curve& curve : {kPowerCurve, kFloorCurve, kKneeCurve, kExponentialCurve})
    EXPECT_NEAR(curve.size_for(curve.at(3000)), 3000, 1e-6) << curve_form_name(curve.form);
}

TEST(Curve, NeverReachesItsFloor) {
  for (const Curve& curve : {kFloorCurve, kKneeCurve, kExponentialCurve}) {
    EXPECT_TRUE(std::isinf(curve.size_for(curve.floor)));
    EXPECT_TRUE(std::isinf(curve.size_for(curve.floor / 2)));
  }
}

}  // namespace
}  // namespace headrace
