#pragma once

/// \file What belongs to this process: its stores, its identity across a fork, and calls that Ctrl-C ends.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>

#include "bindings/python/errors.h"
#include "headrace/store/registry.h"

namespace headrace::python {

/// How often a blocked call looks for signals.
inline constexpr std::chrono::milliseconds kSignalInterval{100};

/// Opens a URL with this process's environment as it is now: a variable that was set in a notebook counts
/// from the next call on. REQUIRES: the GIL, which also guards the environment against os.environ
/// \error as StoreRegistry::open, raised
Location open_location(std::string_view url);

/// Remembers the process in which something with threads or connections was made.
class ProcessMark {
 public:
  ProcessMark();
  bool is_here() const;
  /// Raises if this is a fork of that process: its threads are not here, and its connections are the
  /// parent's. `what` begins the message: "this loader".
  void require_here(std::string_view what) const;

 private:
  pid_t process_;
};

/// Raises KeyboardInterrupt, or what a signal's handler raised. REQUIRES: the GIL
void check_signals();

/// Runs `work(stop_token)`, which returns a Result or Status, on a thread of its own and without the GIL;
/// looks for signals meanwhile. A signal stops the work, waits for its end, and is raised. REQUIRES: the GIL
template <typename Work>
auto run_interruptibly(Work work) -> decltype(work(std::stop_token{}));

// ---- implementation --------------------------------------------------------------------------------

/// Gives the GIL back for as long as it lives.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  void* thread_state_;
};

template <typename Work>
auto run_interruptibly(Work work) -> decltype(work(std::stop_token{})) {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<decltype(work(std::stop_token{}))> result;
  std::stop_source stop;  // not the thread's own, which is stopped at its end: a store may keep the token
  std::jthread thread([&] {
    auto outcome = work(stop.get_token());
    const std::lock_guard lock(mutex);
    result.emplace(std::move(outcome));
    done.notify_one();
  });
  const auto wait = [&](auto duration) {
    const WithoutGil released;
    std::unique_lock lock(mutex);
    return done.wait_for(lock, duration, [&] { return result.has_value(); });
  };
  try {
    while (!wait(kSignalInterval)) check_signals();
  } catch (...) {  // whatever a signal's handler raised goes on to the caller, once the work has ended
    const WithoutGil released;
    stop.request_stop();
    thread.join();
    throw;
  }
  return *std::move(result);
}

}  // namespace headrace::python
