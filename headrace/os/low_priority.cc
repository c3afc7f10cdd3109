#include "headrace/os/low_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>

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

// Returns true if there was a thread to raise.
bool raise_low_threads() {
  bool is_any_low = false;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto thread = static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10));
    if (sched_getscheduler(thread) == SCHED_IDLE && set_policy(thread, SCHED_OTHER)) is_any_low = true;
  }
  return is_any_low;
}

// Looks again until it finds none: a thread that a low one is just starting has a low priority, too, and may
// appear in the list a little later.
void raise_all_threads() {
  constexpr int kPasses = 10;
  constexpr auto kPause = std::chrono::milliseconds(1);
  for (int pass = 0; pass < kPasses && raise_low_threads(); ++pass) std::this_thread::sleep_for(kPause);
}

}  // namespace

LowPriorityThread::LowPriorityThread() : is_in_force_(lower_own_priority()) {}

LowPriorityThread::~LowPriorityThread() {
  if (is_in_force_) set_policy(0, SCHED_OTHER);
}

LowPriorityProcess::LowPriorityProcess(std::chrono::milliseconds longest)
    : until_longest_([this, longest](const std::stop_token& stop) { raise_after(longest, stop); }),
      is_in_force_(lower_unless_over()) {}

// The thread that raises the priority was started first, so it has the usual one.
bool LowPriorityProcess::lower_unless_over() {
  const std::scoped_lock lock(mutex_);
  return !is_over_ && lower_own_priority();
}

void LowPriorityProcess::raise_after(std::chrono::milliseconds longest, const std::stop_token& stop) {
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex_);
  stopped.wait_for(lock, stop, longest, [] { return false; });
  if (stop.stop_requested()) return;
  is_over_ = true;
  raise_all_threads();
}

LowPriorityProcess::~LowPriorityProcess() {
  until_longest_.request_stop();
  until_longest_.join();
  if (is_in_force_) raise_all_threads();
}

}  // namespace headrace
