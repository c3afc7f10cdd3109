#pragma once

/// \file Work that should not slow down others: loading a model.

namespace headrace {

/// While it lives, the thread that made it, and threads of this process that begin, are scheduled after those
/// of others. Does nothing where this process may not raise the priority again afterwards: that takes
/// CAP_SYS_NICE, or a limit RLIMIT_NICE of 20 or more.
class LowPriority {
 public:
  LowPriority();
  /// All threads of this process get the usual priority back.
  ~LowPriority();
  LowPriority(const LowPriority&) = delete;
  LowPriority& operator=(const LowPriority&) = delete;

 private:
  bool is_in_force_ = false;
};

}  // namespace headrace
