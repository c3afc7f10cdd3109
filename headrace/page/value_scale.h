#pragma once

/// \file The left side of a chart of values: where a value lies between the lowest one and the highest one.

#include <cmath>
#include <limits>

namespace headrace {

/// Linear or logarithmic. Any doubles may be included: those that it cannot show change nothing.
class ValueScale {
 public:
  explicit ValueScale(bool is_log) : is_log_(is_log) {}

  /// Finite and, on a logarithmic scale, above 0.
  bool shows(double value) const { return std::isfinite(value) && (!is_log_ || value > 0); }
  void include(double value);
  bool is_empty() const { return !(least_ <= most_); }

  /// The extremes of the values that were included and are shown. REQUIRES: !is_empty()
  double least() const { return least_; }
  double most() const { return most_; }

  /// Makes room around values that are equal, or nearly, so that `value` tells a scale's marks apart.
  void widen_if_flat();

  /// From 0, the lowest value, to 1; 0.5 for all if their difference is lost in rounding.
  /// REQUIRES: shows(value)
  double share(double value) const;
  /// The value at that place.
  double value(double share) const;

 private:
  double scaled(double value) const { return is_log_ ? std::log10(value) : value; }

  bool is_log_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  // As they are drawn: logarithms, if it is logarithmic.
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace headrace
