#pragma once

/// \file The y axis of a chart: places a value between the least and the greatest.

#include <cmath>
#include <limits>

namespace headrace {

/// A linear or logarithmic scale. Any double may be included: values that the scale cannot show are ignored.
class ValueScale {
 public:
  explicit ValueScale(bool is_log) : is_log_(is_log) {}

  /// True if the value is finite and, on a logarithmic scale, above 0.
  bool shows(double value) const { return std::isfinite(value) && (!is_log_ || value > 0); }
  void include(double value);
  bool is_empty() const { return !(least_ <= most_); }

  /// The extremes of the values that were included and are shown. REQUIRES: !is_empty()
  double least() const { return least_; }
  double most() const { return most_; }

  /// Makes room around values that are equal, or nearly so, so that the marks of the scale differ.
  void widen_if_flat();

  /// The place of a value: 0 is the least, 1 the greatest. 0.5 for all if rounding hides their difference.
  /// REQUIRES: shows(value)
  double share(double value) const;
  /// The value at that place, the inverse of `share`.
  double value(double share) const;

 private:
  double scaled(double value) const { return is_log_ ? std::log10(value) : value; }

  bool is_log_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  // As drawn: logarithms on a logarithmic scale.
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace headrace
