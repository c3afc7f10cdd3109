#include "headrace/evaluate/regression_scores.h"

#include <cmath>
#include <limits>

namespace headrace {

void RegressionScores::add(double predicted, double truth) {
  const double residual = predicted - truth;
  sample_.add(spread(records_), {truth, predicted});
  ++records_;
  absolute_ += std::abs(residual);
  squared_ += residual * residual;
  residual_ += residual;
  const double before = truth - truth_mean_;
  truth_mean_ += before / static_cast<double>(records_);
  truth_squares_ += before * (truth - truth_mean_);
}

std::vector<RegressionScores::Pair> RegressionScores::sample() const {
  std::vector<Pair> out;
  for (const auto& [hash, pair] : sample_.sorted()) out.push_back(pair);
  return out;
}

double RegressionScores::mean_absolute_error() const { return absolute_ / static_cast<double>(records_); }

double RegressionScores::root_mean_squared_error() const {
  return std::sqrt(squared_ / static_cast<double>(records_));
}

double RegressionScores::mean_residual() const { return residual_ / static_cast<double>(records_); }

double RegressionScores::r_squared() const {
  if (truth_squares_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return 1 - squared_ / truth_squares_;
}

}  // namespace headrace
