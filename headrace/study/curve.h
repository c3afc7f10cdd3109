#pragma once

/// \file Forms of learning curves, and the fit of each to measured points.
///
/// The error falls with the number of records n (Hestness et al., "Deep Learning Scaling is Predictable,
/// Empirically", 2017): first a plateau of guessing, then a power law, then a floor. The forms are linear in
/// two of their parameters. These two are solved exactly for each value of the others, which are searched on
/// a grid (variable projection: Golub and Pereyra, 1973).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headrace {

enum class CurveForm : std::uint8_t {
  kPower,        // a·n^−b
  kPowerFloor,   // c + a·n^−b
  kPlateau,      // c + a·(1 + (n/k)^s)^(−b/s)
  kExponential,  // c + a·exp(−b·n)
};
inline constexpr int kCurveForms = 4;
/// "power law", "power law with floor", …
std::string_view curve_form_name(CurveForm form);

struct Curve {
  CurveForm form = CurveForm::kPower;
  double scale = 0;      // a ≥ 0, in units of the error
  double rate = 0;       // b > 0: the exponent; for kExponential a rate per record
  double floor = 0;      // c ≥ 0, in units of the error
  double knee = 0;       // k, in records: where the plateau ends
  double sharpness = 1;  // s: how sharply the plateau ends

  /// The error at this many records.
  double at(double size) const;
  /// The smallest number of records with an error of at most `error`; infinity if there is none.
  double size_for(double error) const;
};

/// The measured error at one size, for a fit.
struct FitPoint {
  double error = 0;
  double weight = 0;  // 1 / variance of `error`
};

/// The best curve of a form. `loss` is the weighted sum of squared residuals plus the distances from the
/// prior.
struct CurveFit {
  Curve curve;
  double loss = 0;
};

/// Prior beliefs about the parameters. A few good points outweigh them.
struct CurvePrior {
  double log_rate = -1.05;  // ln 0.35: published exponents are 0.07 to 0.5, theory says 0.5 to 1
  double log_rate_spread = 0.9;
  double floor_share = 0.35;  // of the last error
  double floor_spread = 0.35;
};

/// Fits forms to errors at fixed sizes. The grid is computed once, so that each fit is cheap: about 20 µs for
/// six sizes and the forms with two parameters in the grid.
class CurveFitter {
 public:
  /// \param sizes  in records, ascending; at least two
  explicit CurveFitter(std::vector<double> sizes);

  /// The best curve of a form. Pure; several threads may call it.
  /// REQUIRES: one point for each size
  CurveFit fit(CurveForm form, std::span<const FitPoint> points, const CurvePrior& prior = {}) const;

  const std::vector<double>& sizes() const { return sizes_; }

 private:
  struct GridRow {
    Curve shape;                // with scale 1 and floor 0
    std::vector<double> basis;  // shape.at(size) of each size
  };
  GridRow row_of(const Curve& shape) const;
  void add_rates(CurveForm form, double knee, double sharpness);
  CurveFit solve(const GridRow& row, std::span<const FitPoint> points, const CurvePrior& prior) const;
  CurveFit refine(CurveFit best, std::span<const FitPoint> points, const CurvePrior& prior) const;

  std::vector<double> sizes_;
  std::vector<GridRow> grid_[kCurveForms];
};

}  // namespace headrace
