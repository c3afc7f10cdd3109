#include "headrace/os/low_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

namespace headrace {
namespace {

// Linux keeps a policy for each thread. `thread` 0 is the calling thread.
bool set_policy(pid_t thread, int policy) {
  const sched_param parameters{};
  return sched_setscheduler(thread, policy, &parameters) == 0;
}

// Only a try shows whether the priority can be raised again. If it cannot, one step of niceness hardly
// matters.
bool has_way_back() {
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  const int usual = getpriority(PRIO_PROCESS, self);
  return setpriority(PRIO_PROCESS, self, usual + 1) == 0 && setpriority(PRIO_PROCESS, self, usual) == 0;
}

bool lower_own_priority() {
  static const bool is_possible = has_way_back();
  return is_possible && set_policy(0, SCHED_IDLE);
}

void raise_all_threads() {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error))
    set_policy(static_cast<pid_t>(std::strtol(thread.path().filename().c_str(), nullptr, 10)), SCHED_OTHER);
}

void raise_after(std::chrono::milliseconds longest, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, longest, [] { return false; });
  if (!stop.stop_requested()) raise_all_threads();
}

}  // namespace

LowPriorityThread::LowPriorityThread() : is_in_force_(lower_own_priority()) {}

LowPriorityThread::~LowPriorityThread() {
  if (is_in_force_) set_policy(0, SCHED_OTHER);
}

LowPriorityProcess::LowPriorityProcess(std::chrono::milliseconds longest)
    : until_longest_([longest](const std::stop_token& stop) { raise_after(longest, stop); }),
      is_in_force_(lower_own_priority()) {}

LowPriorityProcess::~LowPriorityProcess() {
  until_longest_.request_stop();
  until_longest_.join();
  if (is_in_force_) raise_all_threads();
}

}  // namespace headrace
