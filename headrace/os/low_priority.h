#pragma once

/// \file Work that must not slow down others: it gets a processor when nobody else wants one (SCHED_IDLE). On
/// a machine that is always busy that is a few thousandths of one, so work that has to end takes the usual
/// priority after some time.
///
/// All do nothing where this process may not raise the priority again afterwards: that takes CAP_SYS_NICE, or
/// a limit RLIMIT_NICE of 20 or more.

#include <chrono>
#include <memory>
#include <thread>

namespace headrace {

/// Lowers the thread that made it, while it lives.
class LowPriorityThread {
 public:
  LowPriorityThread();
  ~LowPriorityThread();
  LowPriorityThread(const LowPriorityThread&) = delete;
  LowPriorityThread& operator=(const LowPriorityThread&) = delete;

 private:
  const bool is_in_force_;
};

/// Steps of work that several threads do.
class LowPrioritySteps {
 public:
  explicit LowPrioritySteps(std::chrono::milliseconds longest)
      : until_(std::chrono::steady_clock::now() + longest) {}
  /// The thread that calls has a low priority until the result is gone. Null: the longest time is over.
  std::unique_ptr<LowPriorityThread> begin() const {
    return std::chrono::steady_clock::now() < until_ ? std::make_unique<LowPriorityThread>() : nullptr;
  }

 private:
  const std::chrono::steady_clock::time_point until_;
};

/// Lowers the thread that made it, and threads of this process that begin meanwhile, while it lives, but at
/// most for `longest`. Afterwards all threads of this process have the usual priority.
class LowPriorityProcess {
 public:
  explicit LowPriorityProcess(std::chrono::milliseconds longest);
  ~LowPriorityProcess();
  LowPriorityProcess(const LowPriorityProcess&) = delete;
  LowPriorityProcess& operator=(const LowPriorityProcess&) = delete;

 private:
  std::jthread until_longest_;
  const bool is_in_force_;
};

}  // namespace headrace
