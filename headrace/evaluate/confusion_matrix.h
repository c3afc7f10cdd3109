#pragma once

/// \file Counts of a classifier's right and wrong answers, and scores computed from them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

/// The scores of one class. A quotient with divisor 0 counts as 0, as in scikit-learn (zero_division=0).
struct ClassScores {
  double precision = 0;       // share of predictions of this class that are right
  double recall = 0;          // share of records of this class that are predicted right
  double f1 = 0;              // harmonic mean of both
  std::uint64_t support = 0;  // number of records of this class
};

/// Rows are the true classes, columns the predicted ones. Exact for any number of records. Not thread-safe.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::size_t classes) : classes_(classes), counts_(classes * classes) {}

  /// REQUIRES: both are less than `classes()`
  void add(std::size_t truth, std::size_t predicted) { ++counts_[truth * classes_ + predicted]; }

  std::size_t classes() const { return classes_; }
  std::uint64_t count(std::size_t truth, std::size_t predicted) const {
    return counts_[truth * classes_ + predicted];
  }
  std::uint64_t records() const;
  /// The share of right predictions; 0 without records.
  double accuracy() const;
  ClassScores scores(std::size_t label) const;

 private:
  std::size_t classes_;
  std::vector<std::uint64_t> counts_;
};

/// Index of the highest score, or the first of several; nullopt if there is no score, or one is not finite.
std::optional<std::size_t> highest(std::span<const float> scores);

}  // namespace headrace
