#pragma once

/// \file A store that is asked for no more than so much in a second.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "headrace/store/location.h"

namespace headrace {

struct RateLimits {
  double bytes_per_second = 0;     // read, written and copied by the caller; 0: any number
  double requests_per_second = 0;  // calls, whatever they take the store below; 0: any number
  /// How much of a rate's second may be used at once after a rest.
  double burst_seconds = 1;
};

/// A token bucket as a clock: what was taken says when the bucket is not empty again. It may be overdrawn by
/// one taking, however large, so that nothing is too large ever to be taken. Thread-safe; a pure function of
/// what it is told.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;
  /// `per_second` 0: always full.
  TokenBucket(double per_second, double burst_seconds);

  /// Takes `tokens` and returns how long to wait before they are used, unless that is longer than `patience`:
  /// then nothing is taken.
  Clock::duration take(double tokens, Clock::time_point now, Clock::duration patience);
  /// Gives back what was taken and not used.
  void give_back(double tokens);

 private:
  Clock::duration time_of(double tokens) const;

  const double per_second_;
  const Clock::duration burst_;
  std::mutex mutex_;
  Clock::time_point empty_until_{};
};

/// A view of `store` whose calls wait their turn. A read is counted as what it asks for, and corrected when
/// it got less. A wait ends with kCancelled when the call is stopped, and a call that would wait longer than
/// its deadline fails at once with kDeadlineExceeded.
std::unique_ptr<Store> make_rate_limited(std::shared_ptr<Store> store, const RateLimits& limits);

/// The same place, through `make_rate_limited`.
Location make_rate_limited(Location location, const RateLimits& limits);

}  // namespace headrace
