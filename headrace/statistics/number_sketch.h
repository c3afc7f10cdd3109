#pragma once

/// \file Summarises many numbers in little memory: exact moments; quantiles and histograms from a sample.

#include <cstdint>
#include <vector>

#include "headrace/base/bottom_sample.h"

namespace headrace {

/// Memory: 32 KiB. The same numbers, merged in the same order, give the same bits. Not thread-safe.
class NumberSketch {
 public:
  /// Quantiles are exact up to this many numbers. Beyond, the rank of a quantile is nearly always off by at
  /// most 2 %.
  static constexpr std::size_t kSampleSize = 2048;

  NumberSketch() : sample_(kSampleSize) {}

  /// \param place  where the number was found; no two numbers have the same place. Determines the sample
  /// NaN and infinities are only counted.
  void add(double number, std::uint64_t place);
  void merge(const NumberSketch& other);

  std::uint64_t count() const { return count_; }  // of finite numbers
  std::uint64_t zeros() const { return zeros_; }
  std::uint64_t not_finite() const { return not_finite_; }
  /// 0 if there are no finite numbers; the functions below, too.
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }
  double mean() const { return mean_; }
  /// The standard deviation of the population: divides by the count.
  double standard_deviation() const;

  /// The quantile for a share from 0 (the minimum) to 1 (the maximum).
  double quantile(double share) const;
  /// The share of sampled numbers in each of `bins` equal parts of `low` … `high`. Numbers outside count in
  /// the first or last part. REQUIRES: bins > 0
  std::vector<double> histogram(double low, double high, std::size_t bins) const;
  /// The sampled numbers, ascending.
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
