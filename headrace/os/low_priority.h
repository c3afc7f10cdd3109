#pragma once

/// \file Work that must not slow down others: it gets a processor when nobody else wants one (SCHED_IDLE). On
/// a machine that is always busy that is a few thousandths of one, so work that has to end takes the usual
/// priority after some time.
///
/// All do nothing where this process may not raise the priority again afterwards: that takes CAP_SYS_NICE, or
/// a limit RLIMIT_NICE of 20 or more.

#include <chrono>
#include <thread>

namespace headrace {

/// Of the thread that made it, while it lives.
class LowPriorityThread {
 public:
  LowPriorityThread();
  ~LowPriorityThread();
  LowPriorityThread(const LowPriorityThread&) = delete;
  LowPriorityThread& operator=(const LowPriorityThread&) = delete;

 private:
  const bool is_in_force_;
};

/// Of the thread that made it, and of threads of this process that begin meanwhile, while it lives, but at
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
