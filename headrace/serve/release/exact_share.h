#pragma once

/// \file Chooses an exact share of a sequence of items.

#include <atomic>
#include <cstdint>

namespace headrace {

/// Shares are in hundredths of a percent; this is all.
inline constexpr std::uint64_t kFullShare = 10'000;

/// Counts items and chooses some of them. Thread-safe.
class ExactShare {
 public:
  /// Whether the next item is chosen. ⌊n·share/kFullShare⌋ of the first n items are chosen.
  /// REQUIRES: share ≤ kFullShare, and the same in all calls
  bool next(std::uint64_t share) {
    // Counts modulo kFullShare, so that nothing overflows.
    const std::uint64_t before = count_.fetch_add(1) % kFullShare;
    return (before + 1) * share / kFullShare > before * share / kFullShare;
  }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace headrace
