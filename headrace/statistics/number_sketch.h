#pragma once

/// \file Summarises many numbers in little memory: moments exactly, quantiles and histograms from a sample.

#include <cstdint>
#include <vector>

#include "headrace/base/bottom_sample.h"

namespace headrace {

/// Memory: 32 KiB. The same numbers merged in the same order give the same bits. One thread at a time.
class NumberSketch {
 public:
  /// Quantiles of up to this many numbers are exact; of more, their rank is off by at most 2 %, nearly
  /// always.
  static constexpr std::size_t kSampleSize = 2048;

  NumberSketch() : sample_(kSampleSize) {}

  /// `place` tells where the number was found; no two have the same. NaN and infinities are only counted.
  void add(double number, std::uint64_t place);
  void merge(const NumberSketch& other);

  std::uint64_t count() const { return count_; }  // of finite numbers
  std::uint64_t zeros() const { return zeros_; }
  std::uint64_t not_finite() const { return not_finite_; }
  /// 0 without numbers; so are those below.
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }
  double mean() const { return mean_; }
  /// The deviation of the whole population: divides by the count.
  double standard_deviation() const;

  /// For shares from 0 to 1, which are the minimum and maximum.
  double quantile(double share) const;
  /// The share of numbers in each of `bins` equal parts of `low` … `high`, by the sample.
  std::vector<double> histogram(double low, double high, std::size_t bins) const;
  /// Ascending.
  std::vector<double> sample() const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t not_finite_ = 0;
  double minimum_ = 0;
  double maximum_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean
  BottomSample<double> sample_;
};

}  // namespace headrace
