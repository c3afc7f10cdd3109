#pragma once

/// \file How far predicted numbers are from true ones.

#include <cstdint>
#include <utility>
#include <vector>

#include "headrace/base/bottom_sample.h"

namespace headrace {

/// Sums up the errors of one number over records. Sums are doubles, in the order of the calls. Not
/// thread-safe. Means are NaN without records.
class RegressionScores {
 public:
  using Pair = std::pair<double, double>;  // the truth first

  /// \param sampled  how many pairs are kept for display
  explicit RegressionScores(std::size_t sampled = 0) : sample_(sampled) {}
  /// REQUIRES: both are finite
  void add(double predicted, double truth);

  std::uint64_t records() const { return records_; }
  double mean_absolute_error() const;
  double root_mean_squared_error() const;
  double mean_residual() const;  // predicted − true
  /// 1 − residual sum of squares ÷ total sum of squares; NaN if all truths are equal, or there are none.
  double r_squared() const;
  /// A sample of the pairs, the same for the same calls. All pairs, if they are not more than `sampled`.
  std::vector<Pair> sample() const;

 private:
  std::uint64_t records_ = 0;
  double absolute_ = 0, squared_ = 0, residual_ = 0;
  double truth_mean_ = 0, truth_squares_ = 0;  // Welford: the sum of squares around the mean
  BottomSample<Pair> sample_;
};

}  // namespace headrace
