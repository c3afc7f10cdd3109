#pragma once

/// \file Waits between attempts, and a limit on the retries that a struggling server gets.

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
/// is drawn from [shortest, 3 × the previous wait], and is at most longest. The waits are a function of
/// options and seed. Not thread-safe.
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

/// Sleeps for that time. Returns true; or false, possibly early, if a stop was requested on `stop`.
bool sleep_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop);

/// A budget of retries, shared by all requests to one server. A retry takes a token, and a success gives back
/// a quarter of one. In a long outage the load therefore drops to a quarter of a retry for each request that
/// succeeds. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(double tokens) : capacity_(tokens), tokens_(tokens) {}
  /// Takes a token. False: there is none, so report the error and do not retry.
  bool take();
  void succeeded();

 private:
  std::mutex mutex_;
  const double capacity_;
  double tokens_;
};

}  // namespace headrace
