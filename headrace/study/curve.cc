#include "headrace/study/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace {
namespace {

constexpr double kLeastExponent = 0.02, kMostExponent = 2;
constexpr int kExponents = 32;         // for the forms without a knee
constexpr int kPlateauExponents = 24;  // for each knee
constexpr int kKnees = 10;
constexpr int kExponentialRates = 24;
constexpr double kLeastSharpness = 1, kMostSharpness = 6;
constexpr int kStepsOfOneFactor = 16;

// `count` values from low to high, each larger by the same factor.
std::vector<double> log_spaced(double low, double high, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i)
    out.push_back(low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(count - 1)));
  return out;
}

bool has_floor(CurveForm form) { return form != CurveForm::kPower; }

}  // namespace

std::string_view curve_form_name(CurveForm form) {
  switch (form) {
    case CurveForm::kPower:
      return "power law";
    case CurveForm::kPowerFloor:
      return "power law with floor";
    case CurveForm::kPlateau:
      return "power law with plateau and floor";
    case CurveForm::kExponential:
      return "exponential with floor";
  }
  return "";
}

double Curve::at(double size) const {
  switch (form) {
    case CurveForm::kPower:
    case CurveForm::kPowerFloor:
      return floor + scale * std::pow(size, -rate);
    case CurveForm::kPlateau:
      return floor + scale * std::pow(1 + std::pow(size / knee, sharpness), -rate / sharpness);
    case CurveForm::kExponential:
      return floor + scale * std::exp(-rate * size);
  }
  return 0;
}

double Curve::size_for(double error) const {
  if (!(error > floor) || scale <= 0) return at(1) <= error ? 1 : std::numeric_limits<double>::infinity();
  const double ratio = (error - floor) / scale;
  switch (form) {
    case CurveForm::kPower:
    case CurveForm::kPowerFloor:
      return std::max(1.0, std::pow(ratio, -1 / rate));
    case CurveForm::kPlateau:
      return std::max(1.0,
                      knee * std::pow(std::max(0.0, std::pow(ratio, -sharpness / rate) - 1), 1 / sharpness));
    case CurveForm::kExponential:
      return std::max(1.0, -std::log(ratio) / rate);
  }
  return 0;
}

CurveFitter::CurveFitter(std::vector<double> sizes) : sizes_(std::move(sizes)) {
  add_rates(CurveForm::kPower, 0, 1);
  add_rates(CurveForm::kPowerFloor, 0, 1);
  // Knees from the first size to half the last: a knee before the first size is a power law, and a knee near
  // the last size is a plateau.
  for (const double knee : log_spaced(sizes_.front(), sizes_.back() / 2, kKnees)) {
    for (const double sharpness : {kLeastSharpness, 4.0}) add_rates(CurveForm::kPlateau, knee, sharpness);
  }
  add_rates(CurveForm::kExponential, 0, 1);
}

void CurveFitter::add_rates(CurveForm form, double knee, double sharpness) {
  const bool exponential = form == CurveForm::kExponential;
  const double low = exponential ? 0.1 / sizes_.back() : kLeastExponent;
  const double high = exponential ? 3 / sizes_.front() : kMostExponent;
  const int count = exponential                   ? kExponentialRates
                    : form == CurveForm::kPlateau ? kPlateauExponents
                                                  : kExponents;
  for (const double rate : log_spaced(low, high, count))
    grid_[static_cast<int>(form)].push_back(
        row_of({.form = form, .scale = 1, .rate = rate, .knee = knee, .sharpness = sharpness}));
}

CurveFitter::GridRow CurveFitter::row_of(const Curve& shape) const {
  GridRow row{.shape = shape};
  for (const double size : sizes_) row.basis.push_back(shape.at(size));
  return row;
}

// Minimizes Σ w·(y − c − a·x)² + ((c − mean)/spread)² over a ≥ 0 and 0 ≤ c.
CurveFit CurveFitter::solve(const GridRow& row, std::span<const FitPoint> points,
                            const CurvePrior& prior) const {
  double w = 0, x = 0, xx = 0, y = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double weight = points[i].weight, basis = row.basis[i], error = points[i].error;
    w += weight;
    x += weight * basis;
    xx += weight * basis * basis;
    y += weight * error;
    xy += weight * basis * error;
    yy += weight * error * error;
  }
  CurveFit out{.curve = row.shape};
  double scale = std::max(0.0, xy / xx), floor = 0;
  const double last = points.back().error,
               ridge = 1 / (prior.floor_spread * prior.floor_spread * last * last);
  const double expected = prior.floor_share * last;
  if (has_floor(row.shape.form)) {
    const double ww = w + ridge, yc = y + ridge * expected;
    const double determinant = xx * ww - x * x;
    if (determinant > 1e-12 * xx * ww) {
      const double solved = (xx * yc - x * xy) / determinant;
      if (solved > 0) {
        floor = solved;
        scale = (xy - x * floor) / xx;
      }
      if (scale < 0) {
        scale = 0;
        floor = yc / ww;
      }
    }
  }
  out.curve.scale = scale;
  out.curve.floor = floor;
  out.loss =
      yy - 2 * (scale * xy + floor * y) + scale * scale * xx + 2 * scale * floor * x + floor * floor * w;
  if (has_floor(row.shape.form)) out.loss += ridge * (floor - expected) * (floor - expected);
  if (row.shape.form != CurveForm::kExponential) {
    const double distance = (std::log(row.shape.rate) - prior.log_rate) / prior.log_rate_spread;
    out.loss += distance * distance;
  }
  return out;
}

// Changes rate, knee and sharpness by ever smaller factors as long as the loss falls.
CurveFit CurveFitter::refine(CurveFit best, std::span<const FitPoint> points, const CurvePrior& prior) const {
  const bool has_knee = best.curve.form == CurveForm::kPlateau;
  for (double factor = has_knee ? 1.3 : 1.06; factor > 1.003; factor = std::sqrt(factor)) {
    const auto move = [&](double Curve::*parameter, double low, double high) {
      for (const double by : {factor, 1 / factor}) {
        Curve shape = best.curve;
        shape.scale = 1;
        shape.floor = 0;
        shape.*parameter = std::clamp(shape.*parameter * by, low, high);
        const CurveFit moved = solve(row_of(shape), points, prior);
        if (moved.loss >= best.loss) continue;
        best = moved;
        return true;
      }
      return false;
    };
    const double most = best.curve.form == CurveForm::kExponential ? 3 / sizes_.front() : kMostExponent;
    for (int step = 0; step < kStepsOfOneFactor; ++step) {
      bool moved = move(&Curve::rate, 0, most);
      if (has_knee) {
        moved = move(&Curve::knee, sizes_.front(), sizes_.back() / 2) || moved;
        moved = move(&Curve::sharpness, kLeastSharpness, kMostSharpness) || moved;
      }
      if (!moved) break;
    }
  }
  return best;
}

CurveFit CurveFitter::fit(CurveForm form, std::span<const FitPoint> points, const CurvePrior& prior) const {
  CurveFit best{.loss = std::numeric_limits<double>::infinity()};
  for (const GridRow& row : grid_[static_cast<int>(form)]) {
    const CurveFit fit = solve(row, points, prior);
    if (fit.loss < best.loss) best = fit;
  }
  return refine(best, points, prior);
}

}  // namespace headrace
