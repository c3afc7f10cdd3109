#pragma once

/// \file Computes to which source a position of a mixture belongs: docs/formats/order.md, "Mixtures". Pure
/// functions.

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

inline constexpr std::size_t kMaxMixtureSources = 4096 - 1;

/// Converts weights to the integers of the format. REQUIRES: at least one weight; each is finite and above 0.
std::vector<std::uint64_t> mixture_weights(std::span<const double> weights);

/// The order in which a mixture takes records from its sources. Immutable, hence thread-safe. Every function
/// costs at most O(log sources).
class Mixture {
 public:
  /// REQUIRES: 1 to kMaxMixtureSources weights, which come from `mixture_weights`.
  explicit Mixture(std::vector<std::uint64_t> weights);

  /// A position of the mixture, as a position of one of its sources.
  struct Draw {
    std::size_t source = 0;
    std::uint64_t position = 0;  // in the source's own sequence, over its epochs
    bool operator==(const Draw&) const = default;
  };
  Draw at(std::uint64_t position) const;

  /// The number of the mixture's first `positions` positions that belong to the source.
  std::uint64_t count_before(std::size_t source, std::uint64_t positions) const;

  std::size_t source_count() const { return sums_.size() - 1; }
  std::uint64_t weight(std::size_t source) const { return sums_[source + 1] - sums_[source]; }
  std::uint64_t total_weight() const { return sums_.back(); }

 private:
  std::vector<std::uint64_t> sums_;  // of the weights before each source; the last is the sum of all
};

}  // namespace headrace
