#pragma once

/// \file For tests: a process that can start no further thread, as at a limit for processes or memory.

#include <pthread.h>

#include <cstddef>

namespace headrace {

/// While it lives, starting a thread fails in the whole process, because the thread's stack would have to be
/// larger than the address space.
class ThreadRefusal {
 public:
  ThreadRefusal() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
  }
  ~ThreadRefusal() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  ThreadRefusal(const ThreadRefusal&) = delete;
  ThreadRefusal& operator=(const ThreadRefusal&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace headrace
