#include "headrace/evaluate/binary_scores.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace headrace {
namespace {

// Ascends with the score: the float's bits, with negative numbers turned round.
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

}  // namespace headrace
