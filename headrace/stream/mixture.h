#pragma once

/// \file Which source a position of a mixture belongs to: docs/formats/order.md, "Mixtures". Pure functions.

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

inline constexpr std::size_t kMaxMixtureSources = 4096 - 1;

/// Weights as the format's integers. REQUIRES: each is finite and above 0
std::vector<std::uint64_t> mixture_weights(std::span<const double> weights);

/// Immutable, hence thread-safe. Every answer costs O(log sources).
class Mixture {
 public:
  /// REQUIRES: 1 … kMaxMixtureSources weights, as `mixture_weights` gives them
  explicit Mixture(std::vector<std::uint64_t> weights);

  struct Draw {
    std::size_t source = 0;
    std::uint64_t position = 0;  // in the source's own sequence, over its epochs
    bool operator==(const Draw&) const = default;
  };
  Draw at(std::uint64_t position) const;

  /// How many of the mixture's first `positions` positions are the source's.
  std::uint64_t count_before(std::size_t source, std::uint64_t positions) const;

  std::size_t source_count() const { return sums_.size() - 1; }
  std::uint64_t weight(std::size_t source) const { return sums_[source + 1] - sums_[source]; }
  std::uint64_t total_weight() const { return sums_.back(); }

 private:
  std::vector<std::uint64_t> sums_;  // of the weights before each source, and of all
};

}  // namespace headrace
