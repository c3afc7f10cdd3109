#pragma once

/// \file How well a score separates yes from no: the area under the ROC curve, and calibration.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace headrace {

/// The records whose probabilities lie between number / kBins and (number + 1) / kBins.
struct CalibrationBin {
  std::uint64_t records = 0;
  std::uint64_t positives = 0;
  double score_sum = 0;
};

/// Counts exactly, for any number of records, in 16 bytes for each of 2^`key_bits` ranges of scores. For the
/// area, scores with the same first `key_bits` bits count as tied; with 20 bits, these are scores that differ
/// by less than a 2048th of their value. Not thread-safe.
class BinaryScores {
 public:
  static constexpr std::size_t kBins = 10;

  /// \param key_bits  10 to 20
  explicit BinaryScores(int key_bits);
  /// REQUIRES: `score` is finite
  void add(float score, bool is_positive);
  /// Adds a probability of yes to the calibration.
  void add_probability(float probability, bool is_positive);

  /// The probability that a positive has a higher score than a negative, where a tie counts half: the area
  /// under the ROC curve (Mann-Whitney U). NaN if there are no positives or no negatives.
  double area_under_roc() const;
  /// The ROC curve from (0, 0) to (1, 1). Each point has the shares of negatives and of positives whose score
  /// is above a threshold, which falls from point to point. Points are at least a hundredth apart in one of
  /// the shares. Empty if there are no positives or no negatives.
  std::vector<std::pair<double, double>> roc_curve() const;
  /// Bins of the probabilities. Those below 0 count in the first bin, those above 1 in the last.
  const std::array<CalibrationBin, kBins>& calibration() const { return calibration_; }

 private:
  int key_bits_;
  std::vector<std::uint64_t> positives_, negatives_;  // by the first bits of the score
  std::array<CalibrationBin, kBins> calibration_{};
};

}  // namespace headrace
