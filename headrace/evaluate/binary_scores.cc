#include "headrace/evaluate/binary_scores.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace headrace {
namespace {

// Returns a key that ascends with the score: the bits of the float, inverted for negative numbers.
std::size_t key_of(float score, int key_bits) {
  const auto bits = std::bit_cast<std::uint32_t>(score == 0 ? 0.0F : score);  // no negative zero
  const std::uint32_t ordered = bits >> 31 != 0 ? ~bits : bits | 0x8000'0000;
  return ordered >> (32 - key_bits);
}

}  // namespace

BinaryScores::BinaryScores(int key_bits)
    : key_bits_(key_bits), positives_(std::size_t{1} << key_bits), negatives_(std::size_t{1} << key_bits) {}

void BinaryScores::add(float score, bool is_positive) {
  ++(is_positive ? positives_ : negatives_)[key_of(score, key_bits_)];
}

void BinaryScores::add_probability(float probability, bool is_positive) {
  const float place =
      std::clamp(probability * static_cast<float>(kBins), 0.0F, static_cast<float>(kBins - 1));
  CalibrationBin& bin = calibration_[static_cast<std::size_t>(place)];
  ++bin.records;
  bin.positives += is_positive ? 1 : 0;
  bin.score_sum += static_cast<double>(probability);
}

double BinaryScores::area_under_roc() const {
  double won = 0;  // pairs of a positive and a negative in which the positive's score is higher
  double positives = 0, negatives = 0;
  for (std::size_t key = 0; key < positives_.size(); ++key) {
    const auto here = static_cast<double>(positives_[key]), against = static_cast<double>(negatives_[key]);
    won += here * (negatives + against / 2);
    positives += here;
    negatives += against;
  }
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return won / (positives * negatives);
}

std::vector<std::pair<double, double>> BinaryScores::roc_curve() const {
  constexpr double kApart = 0.01;
  const auto positives =
      static_cast<double>(std::accumulate(positives_.begin(), positives_.end(), std::uint64_t{0}));
  const auto negatives =
      static_cast<double>(std::accumulate(negatives_.begin(), negatives_.end(), std::uint64_t{0}));
  if (positives == 0 || negatives == 0) return {};
  std::vector<std::pair<double, double>> out = {{0, 0}};
  std::uint64_t true_positives = 0, false_positives = 0;
  for (std::size_t key = positives_.size(); key-- > 0;) {
    true_positives += positives_[key];
    false_positives += negatives_[key];
    const double x = static_cast<double>(false_positives) / negatives;
    const double y = static_cast<double>(true_positives) / positives;
    if (x - out.back().first >= kApart || y - out.back().second >= kApart) out.emplace_back(x, y);
  }
  if (out.back() != std::pair(1.0, 1.0)) out.emplace_back(1, 1);
  return out;
}

}  // namespace headrace
