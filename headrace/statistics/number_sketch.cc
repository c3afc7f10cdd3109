#include "headrace/statistics/number_sketch.h"

#include <cmath>

namespace headrace {

void NumberSketch::add(double number, std::uint64_t place) {
  if (!std::isfinite(number)) {
    ++not_finite_;
    return;
  }
  minimum_ = count_ == 0 ? number : std::min(minimum_, number);
  maximum_ = count_ == 0 ? number : std::max(maximum_, number);
  zeros_ += number == 0 ? 1 : 0;
  ++count_;
  const double distance = number - mean_;  // Welford's recurrence
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (number - mean_);
  sample_.add(spread(place), number);
}

void NumberSketch::merge(const NumberSketch& other) {
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  minimum_ = count_ == 0 ? other.minimum_ : std::min(minimum_, other.minimum_);
  maximum_ = count_ == 0 ? other.maximum_ : std::max(maximum_, other.maximum_);
  zeros_ += other.zeros_;
  const auto here = static_cast<double>(count_), there = static_cast<double>(other.count_);
  const double distance = other.mean_ - mean_;  // Chan, Golub and LeVeque, 1979
  mean_ += distance * there / (here + there);
  squares_ += other.squares_ + distance * distance * here * there / (here + there);
  count_ += other.count_;
  sample_.merge(other.sample_);
}

double NumberSketch::standard_deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

std::vector<double> NumberSketch::sample() const {
  std::vector<double> out;
  for (const auto& [hash, number] : sample_.sorted()) out.push_back(number);
  std::sort(out.begin(), out.end());
  return out;
}

double NumberSketch::quantile(double share) const {
  if (count_ == 0) return 0;
  if (share <= 0) return minimum_;
  if (share >= 1) return maximum_;
  const std::vector<double> ascending = sample();
  return ascending[static_cast<std::size_t>(share * static_cast<double>(ascending.size()))];
}

std::vector<double> NumberSketch::histogram(double low, double high, std::size_t bins) const {
  std::vector<double> shares(bins, 0);
  const std::vector<double> numbers = sample();
  for (const double number : numbers) {
    // Computes with halves, since the width of a range of doubles may be no finite double.
    const double at = high > low ? (number / 2 - low / 2) / (high / 2 - low / 2) : 0;
    const double bin = std::clamp(at * static_cast<double>(bins), 0.0, static_cast<double>(bins - 1));
    shares[static_cast<std::size_t>(bin)] += 1 / static_cast<double>(numbers.size());
  }
  return shares;
}

}  // namespace headrace
