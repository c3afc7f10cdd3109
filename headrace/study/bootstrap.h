#pragma once

/// \file The bootstrap: many curves, each fitted to a resampled version of the measured points.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headrace/study/curve.h"
#include "headrace/study/measured_curve.h"

namespace headrace {

struct BootstrapOptions {
  std::uint64_t seed = 1;
  int replicates = 1000;
  CurvePrior prior{};
  std::stop_token stop{};  // a stop request ends the work early, with fewer replicates
};

struct FittedCurves {
  std::vector<Curve> replicates;
  CurveFit fits[kCurveForms];  // of each form to the measured means
  /// The error of each form at the largest size when it is fitted without that size: predicted − measured.
  double held_out_error[kCurveForms]{};
  /// The form with the least loss, where its number of parameters and its held-out error add to the loss.
  CurveForm chosen = CurveForm::kPower;
  double shares[kCurveForms]{};  // share of the replicates that chose each form
  /// Differences of single runs from the mean of their size, in standard deviations. Never empty.
  std::vector<double> residuals;

  const Curve& curve() const { return fits[static_cast<int>(chosen)].curve; }
};

/// Fits all forms to the means, then to `replicates` resampled curves. Each replicate resamples the runs of
/// each size from the standardized residuals of all sizes, and weights the sizes at random (a bootstrap over
/// seeds and over sizes). It then chooses its form as above, so that every interval includes the uncertainty
/// about the form. The constants were tuned on simulated curves (bench/learning_curve.py), and validated on
/// others.
///
/// The random numbers are a hash of seed and counter, without distributions of the standard library.
/// Pure; about 0.15 s for 1,000 replicates of six sizes.
/// REQUIRES: `points` are from summarise_curve
FittedCurves fit_curves(const std::vector<CurvePoint>& points, const BootstrapOptions& options = {});

/// Smallest error of a resampled run, as a share of the error around which it is drawn.
inline constexpr double kLeastDrawnShare = 0.1;

/// The median of a value over the replicates, and the interval that contains 90 % of them.
struct Interval {
  double middle = 0;
  double low = 0;
  double high = 0;
};

/// The median and the 5 % and 95 % quantiles of values. Infinities are the largest values.
/// REQUIRES: !values.empty()
Interval interval_of(std::vector<double> values);

}  // namespace headrace
