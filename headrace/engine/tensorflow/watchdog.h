#pragma once

/// \file A time limit for calls that run in their caller's thread, which TensorFlow's own timeout does not
/// cover.

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace headrace::tensorflow {

/// Runs `expired` once, from a thread of its own, when a watched call has taken longer than `deadline`
/// (checked every second, and more often for a short one). Thread-safe.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds deadline, std::function<void()> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches from its construction to its destruction. A null watchdog watches nothing.
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
  std::multiset<std::chrono::steady_clock::time_point> started_;  // of the calls that are under way
  bool has_expired_ = false;
  std::jthread thread_;
};

}  // namespace headrace::tensorflow
