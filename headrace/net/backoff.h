#pragma once

/// \file Waiting between attempts, and a bound on how many attempts a struggling server gets.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace headrace {

struct BackoffOptions {
  std::chrono::milliseconds shortest{50};
  std::chrono::milliseconds longest{5'000};
};

/// Decorrelated jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015): each wait
/// is drawn from [shortest, 3 × the one before], cut at longest. A pure function of options and seed. Not
/// thread-safe.
class Backoff {
 public:
  Backoff(const BackoffOptions& options, std::uint64_t seed);
  std::chrono::milliseconds next();

 private:
  BackoffOptions options_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::chrono::milliseconds previous_;
};

/// Sleeps for that time. Returns false, early, once `stop` is requested.
bool sleep_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop);

/// Shared by all requests to one server: a retry takes a token, a success gives a quarter of one back, so
/// that in a long outage the load drops to a quarter of a retry per request that works. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(double tokens) : capacity_(tokens), tokens_(tokens) {}
  /// False: do not retry; report the error.
  bool take();
  void succeeded();

 private:
  std::mutex mutex_;
  const double capacity_;
  double tokens_;
};

}  // namespace headrace
