#include "headrace/study/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/base/hash.h"

namespace headrace {
namespace {

constexpr std::size_t kLeastResiduals = 8;
// Quantiles of the normal distribution at (i + ½)/12: used when there are too few residuals.
constexpr double kNormalScores[] = {-1.732, -1.150, -0.812, -0.549, -0.319, -0.105,
                                    0.105,  0.319,  0.549,  0.812,  1.150,  1.732};

// Random numbers in [0, 1), a function of seed and counter.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_{seed, stream} {}
  double unit() { return static_cast<double>(siphash(key_, counter_++) >> 11) * 0x1p-53; }
  std::size_t below(std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(unit() * static_cast<double>(count)));
  }

 private:
  HashKey key_;
  std::uint64_t counter_ = 0;
};

std::vector<double> standardized_residuals(const std::vector<CurvePoint>& points) {
  std::vector<double> out;
  for (const CurvePoint& point : points) {
    const auto runs = static_cast<double>(point.errors.size());
    if (runs < 2) continue;
    for (const double error : point.errors)
      out.push_back((error - point.mean) / (point.spread * std::sqrt(1 - 1 / runs)));
  }
  if (out.size() < kLeastResiduals) return {std::begin(kNormalScores), std::end(kNormalScores)};
  return out;
}

std::vector<double> sizes_of(const std::vector<CurvePoint>& points, std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(points[i].size);
  return out;
}

// Penalties for a form's parameters, so that noise does not select the richest form.
constexpr double kComplexity[kCurveForms] = {0, 1, 2, 1.5};
// The share of a mean's error that the form causes: no form is exact.
constexpr double kFormError = 0.003;
// A size has between 0.05 and 1.95 of its weight in a replicate.
constexpr double kLeastSizeWeight = 0.05;

struct AllFits {
  CurveFit fits[kCurveForms];
  double held_out_error[kCurveForms]{};
  int best = 0;
};

class FormChooser {
 public:
  FormChooser(const std::vector<CurvePoint>& points, const CurvePrior& prior)
      : prior_(prior),
        all_(sizes_of(points, points.size())),
        without_last_(sizes_of(points, points.size() - 1)) {}

  AllFits fit(const std::vector<FitPoint>& points) const {
    AllFits out;
    const FitPoint& last = points.back();
    double least = std::numeric_limits<double>::infinity();
    for (int form = 0; form < kCurveForms; ++form) {
      const auto which = static_cast<CurveForm>(form);
      out.fits[form] = all_.fit(which, points, prior_);
      const CurveFit before = without_last_.fit(which, std::span(points).first(points.size() - 1), prior_);
      out.held_out_error[form] = before.curve.at(all_.sizes().back()) - last.error;
      const double score = out.fits[form].loss + kComplexity[form] +
                           out.held_out_error[form] * out.held_out_error[form] * last.weight;
      if (score >= least) continue;
      least = score;
      out.best = form;
    }
    return out;
  }

 private:
  CurvePrior prior_;
  CurveFitter all_;
  CurveFitter without_last_;
};

std::vector<FitPoint> means_of(const std::vector<CurvePoint>& points) {
  std::vector<FitPoint> out;
  for (const CurvePoint& point : points) {
    const double noise = point.standard_error(), form = kFormError * point.mean;
    out.push_back({point.mean, 1 / (noise * noise + form * form)});
  }
  return out;
}

std::vector<FitPoint> resampled(const std::vector<CurvePoint>& points, const std::vector<FitPoint>& means,
                                const std::vector<double>& residuals, CounterRandom random) {
  std::vector<FitPoint> out = means;
  for (std::size_t at = 0; at < points.size(); ++at) {
    const std::size_t runs = points[at].errors.size();
    double sum = 0;
    for (std::size_t run = 0; run < runs; ++run) sum += residuals[random.below(residuals.size())];
    const double moved = points[at].spread * sum / static_cast<double>(runs);
    out[at].error = std::max(out[at].error + moved, kLeastDrawnShare * points[at].mean);
    out[at].weight *= kLeastSizeWeight + 2 * (1 - kLeastSizeWeight) * random.unit();
  }
  return out;
}

}  // namespace

FittedCurves fit_curves(const std::vector<CurvePoint>& points, const BootstrapOptions& options) {
  const FormChooser chooser(points, options.prior);
  const std::vector<FitPoint> means = means_of(points);
  FittedCurves out{.residuals = standardized_residuals(points)};
  const AllFits fits = chooser.fit(means);
  for (int form = 0; form < kCurveForms; ++form) {
    out.fits[form] = fits.fits[form];
    out.held_out_error[form] = fits.held_out_error[form];
  }
  out.chosen = static_cast<CurveForm>(fits.best);
  for (int i = 0; i < options.replicates && !options.stop.stop_requested(); ++i) {
    const CounterRandom random(options.seed, static_cast<std::uint64_t>(i));
    const AllFits one = chooser.fit(resampled(points, means, out.residuals, random));
    out.replicates.push_back(one.fits[one.best].curve);
    out.shares[one.best] += 1.0 / options.replicates;
  }
  return out;
}

Interval interval_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.5), at(0.05), at(0.95)};
}

}  // namespace headrace
