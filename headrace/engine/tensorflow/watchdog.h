#pragma once

/// \file A time limit for calls that run in their caller's thread, because TensorFlow's own timeout does not
/// cover them.

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace headrace::tensorflow {

/// Runs `expired` once, in a thread of its own, when a watched call has taken longer than `deadline`. Checks
/// once per second, or more often for a short deadline. Thread-safe.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds deadline, std::function<void()> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches one call, from its construction to its destruction. With a null watchdog it does nothing.
  class Watch {
   public:
    explicit Watch(Watchdog* watchdog);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog* watchdog_;
    std::multiset<std::chrono::steady_clock::time_point>::iterator start_;
  };

  bool has_expired() const;

 private:
  void wait(const std::stop_token& stop);

  const std::chrono::milliseconds deadline_;
  const std::function<void()> expired_;
  mutable std::mutex mutex_;
  std::multiset<std::chrono::steady_clock::time_point> started_;  // when each running call started
  bool has_expired_ = false;
  std::jthread thread_;
};

}  // namespace headrace::tensorflow
