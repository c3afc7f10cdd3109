#include "headrace/evaluate/confusion_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace {
namespace {

double quotient(double dividend, double divisor) { return divisor > 0 ? dividend / divisor : 0; }

}  // namespace

std::uint64_t ConfusionMatrix::records() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

double ConfusionMatrix::accuracy() const {
  std::uint64_t right = 0;
  for (std::size_t label = 0; label < classes_; ++label) right += count(label, label);
  return quotient(static_cast<double>(right), static_cast<double>(records()));
}

ClassScores ConfusionMatrix::scores(std::size_t label) const {
  std::uint64_t predicted = 0, support = 0;
  for (std::size_t other = 0; other < classes_; ++other) {
    predicted += count(other, label);
    support += count(label, other);
  }
  const auto right = static_cast<double>(count(label, label));
  return {.precision = quotient(right, static_cast<double>(predicted)),
          .recall = quotient(right, static_cast<double>(support)),
          .f1 = quotient(2 * right, static_cast<double>(predicted + support)),
          .support = support};
}

std::optional<std::size_t> highest(std::span<const float> scores) {
  if (scores.empty() || std::any_of(scores.begin(), scores.end(), [](float x) { return !std::isfinite(x); }))
    return std::nullopt;
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace headrace
