#pragma once

/// \file Runs work that must not slow down other work. It gets a processor only if nothing else wants one
/// (SCHED_IDLE). On a machine that is always busy, that is a few thousandths of a processor, so work that
/// must end takes the usual priority after some time.
///
/// Nothing here has an effect if this process may not raise the priority again afterwards. That requires
/// CAP_SYS_NICE, or an RLIMIT_NICE of 20 or more.

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace headrace {

/// Lowers the priority of the thread that creates it, until it is destroyed by the same thread.
class LowPriorityThread {
 public:
  LowPriorityThread();
  ~LowPriorityThread();
  LowPriorityThread(const LowPriorityThread&) = delete;
  LowPriorityThread& operator=(const LowPriorityThread&) = delete;

 private:
  const bool is_in_force_;
};

/// Divides work of several threads into steps with low priority, for a limited time. Thread-safe.
class LowPrioritySteps {
 public:
  explicit LowPrioritySteps(std::chrono::milliseconds longest)
      : until_(std::chrono::steady_clock::now() + longest) {}
  /// Gives the calling thread a low priority until the result is destroyed. Null, and no effect, once the
  /// time `longest` is over.
  std::unique_ptr<LowPriorityThread> begin() const {
    return std::chrono::steady_clock::now() < until_ ? std::make_unique<LowPriorityThread>() : nullptr;
  }

 private:
  const std::chrono::steady_clock::time_point until_;
};

/// While it lives, but at most for `longest`, lowers the priority of the thread that creates it and of the
/// threads that this thread starts. Afterwards all threads of this process have the usual priority.
class LowPriorityProcess {
 public:
  explicit LowPriorityProcess(std::chrono::milliseconds longest);
  ~LowPriorityProcess();
  LowPriorityProcess(const LowPriorityProcess&) = delete;
  LowPriorityProcess& operator=(const LowPriorityProcess&) = delete;

 private:
  bool lower_unless_over();
  void raise_after(std::chrono::milliseconds longest, const std::stop_token& stop);

  std::mutex mutex_{};
  bool is_over_ = false;  // the time `longest`; guarded by mutex_
  std::jthread until_longest_;
  const bool is_in_force_;
};

}  // namespace headrace
