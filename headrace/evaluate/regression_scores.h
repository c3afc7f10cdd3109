#pragma once

/// \file How far predicted numbers are from true ones.

#include <cstdint>

namespace headrace {

/// The errors of one number for each record. Sums are doubles, in the order of the calls.
class RegressionScores {
 public:
  /// REQUIRES: both are finite
  void add(double predicted, double truth);

  std::uint64_t records() const { return records_; }
  double mean_absolute_error() const;
  double root_mean_squared_error() const;
  double mean_residual() const;  // predicted − true
  /// 1 − residual sum of squares ÷ total sum of squares; NaN if all truths are equal.
  double r_squared() const;

 private:
  std::uint64_t records_ = 0;
  double absolute_ = 0, squared_ = 0, residual_ = 0;
  double truth_mean_ = 0, truth_squares_ = 0;  // Welford: the sum of squares around the mean
};

}  // namespace headrace
