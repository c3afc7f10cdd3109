#include "headrace/stream/mixture.h"

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

constexpr double kLargestWeight = 1 << 20;

// How many of the first `positions` positions that reach a node with these weights go left. The products stay
// below 2^64, because the weights sum to less than 2^32.
std::uint64_t left_count(std::uint64_t positions, std::uint64_t left, std::uint64_t right) {
  const std::uint64_t both = left + right;
  return positions / both * left + (positions % both * left + both / 2) / both;
}

std::size_t split_of(std::size_t begin, std::size_t end) { return begin + (end - begin + 1) / 2; }

}  // namespace

std::vector<std::uint64_t> mixture_weights(std::span<const double> weights) {
  const double largest = *std::ranges::max_element(weights);
  std::vector<std::uint64_t> out;
  for (const double weight : weights)
    out.push_back(static_cast<std::uint64_t>(std::max(1.0, std::round(weight / largest * kLargestWeight))));
  return out;
}

Mixture::Mixture(std::vector<std::uint64_t> weights) : sums_(1) {
  for (const std::uint64_t weight : weights) sums_.push_back(sums_.back() + weight);
}

Mixture::Draw Mixture::at(std::uint64_t position) const {
  std::size_t begin = 0, end = source_count();
  while (end - begin > 1) {
    const std::size_t middle = split_of(begin, end);
    const std::uint64_t left = sums_[middle] - sums_[begin], right = sums_[end] - sums_[middle];
    const std::uint64_t before = left_count(position, left, right);
    if (left_count(position + 1, left, right) > before) {
      position = before;
      end = middle;
    } else {
      position -= before;
      begin = middle;
    }
  }
  return {begin, position};
}

std::uint64_t Mixture::count_before(std::size_t source, std::uint64_t positions) const {
  std::size_t begin = 0, end = source_count();
  while (end - begin > 1) {
    const std::size_t middle = split_of(begin, end);
    const std::uint64_t before =
        left_count(positions, sums_[middle] - sums_[begin], sums_[end] - sums_[middle]);
    if (source < middle) {
      positions = before;
      end = middle;
    } else {
      positions -= before;
      begin = middle;
    }
  }
  return positions;
}

}  // namespace headrace
