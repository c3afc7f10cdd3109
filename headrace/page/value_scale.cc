#include "headrace/page/value_scale.h"

#include <algorithm>

namespace headrace {

namespace {

constexpr double kMostValue = std::numeric_limits<double>::max();

}  // namespace

void ValueScale::include(double value) {
  if (!shows(value)) return;
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
  low_ = std::min(low_, scaled(value));
  high_ = std::max(high_, scaled(value));
}

void ValueScale::widen_if_flat() {
  if (is_empty()) low_ = high_ = scaled(1);
  if (high_ - low_ > std::abs(high_) * 1e-9) return;
  const double room = std::max(1e-9, std::abs(high_) / 100);
  low_ = std::max(low_ - room, -kMostValue);
  high_ = std::min(high_ + room, kMostValue);
}

// Computes with halves, because the difference of two large numbers may be infinite. Halves of the smallest
// numbers are 0.
double ValueScale::share(double value) const {
  const double length = high_ / 2 - low_ / 2;
  if (!(length > 0)) return 0.5;
  return std::clamp((scaled(value) / 2 - low_ / 2) / length, 0.0, 1.0);
}

double ValueScale::value(double share) const {
  const double at = low_ * (1 - share) + high_ * share;
  return is_log_ ? std::min(std::pow(10, at), kMostValue) : at;
}

}  // namespace headrace
