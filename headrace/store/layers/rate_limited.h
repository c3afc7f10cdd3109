#pragma once

/// \file A store with a limit on bytes and calls per second.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "headrace/store/location.h"

namespace headrace {

struct RateLimits {
  double bytes_per_second = 0;     // read, written and copied by the caller; 0: any number
  double requests_per_second = 0;  // calls, whatever they take the store below; 0: any number
  /// How many seconds' worth of a rate may be used at once after a rest.
  double burst_seconds = 1;
};

/// A token bucket kept as a clock: it stores the time at which the bucket is no longer empty. One taking may
/// overdraw it, however large it is, so nothing is too large ever to be taken. Thread-safe; a pure function
/// of its arguments.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;
  /// `per_second` 0: always full.
  TokenBucket(double per_second, double burst_seconds);

  /// Takes `tokens` and returns how long to wait before using them, unless that is longer than `patience`:
  /// then nothing is taken.
  Clock::duration take(double tokens, Clock::time_point now, Clock::duration patience);
  /// Returns tokens that were taken and not used.
  void give_back(double tokens);

 private:
  Clock::duration time_of(double tokens) const;

  const double per_second_;
  const Clock::duration burst_;
  std::mutex mutex_;
  Clock::time_point empty_until_{};
};

/// A view of `store` whose calls wait their turn. A read counts as the bytes that it asks for, corrected if
/// it got fewer. A wait ends with kCancelled when the call is stopped, and a call that would wait longer than
/// its deadline fails at once with kDeadlineExceeded.
std::unique_ptr<Store> make_rate_limited(std::shared_ptr<Store> store, const RateLimits& limits);

/// The same place, through `make_rate_limited`.
Location make_rate_limited(Location location, const RateLimits& limits);

}  // namespace headrace
