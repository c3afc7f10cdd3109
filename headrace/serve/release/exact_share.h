#pragma once

/// \file Chooses a share of things that come one after another.

#include <atomic>
#include <cstdint>

namespace headrace {

/// Shares are hundredths of a percent.
inline constexpr std::uint64_t kFullShare = 10'000;

/// Thread-safe.
class ExactShare {
 public:
  /// Whether this one is chosen: of the first n, ⌊n·share⌋ are. REQUIRES: share ≤ kFullShare, always the same
  bool next(std::uint64_t share) {
    // Within each kFullShare of them, so that nothing overflows.
    const std::uint64_t before = count_.fetch_add(1) % kFullShare;
    return (before + 1) * share / kFullShare > before * share / kFullShare;
  }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace headrace
