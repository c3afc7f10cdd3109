#pragma once

/// \file When to list a log folder again: docs/tensorboard.md, "Following". Pure.

#include <algorithm>
#include <chrono>

namespace headrace {

class PollSchedule {
 public:
  using Time = std::chrono::milliseconds;
  static constexpr Time kLiveInterval{1'000};
  static constexpr Time kLongestInterval{10'000};
  /// A folder that has not changed for this long has no live run.
  static constexpr Time kLiveFor{600'000};

  /// Returns how long to wait after a poll before the next one.
  /// \param changed  the poll had something to read
  /// \param took     how long the poll took
  Time wait_after(bool changed, Time took) {
    quiet_for_ = changed ? Time{0} : quiet_for_ + took;
    interval_ = quiet_for_ < kLiveFor ? kLiveInterval : std::min(interval_ * 2, kLongestInterval);
    const Time wait = std::max(interval_ - took, std::min(took, kLongestInterval));
    quiet_for_ += wait;
    return wait;
  }

 private:
  Time quiet_for_{0};
  Time interval_ = kLiveInterval;
};

}  // namespace headrace
