#pragma once

/// \file Threads that compute results before other threads need them.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace {

/// Runs tasks on at most `threads` threads, which are started when needed. Tasks of `add_at` that are due run
/// before those of `add`. Exceptions of tasks are dropped. Thread-safe. The destructor waits for running
/// tasks and drops the others.
///
/// If the system refuses a thread, tasks may wait for ever. So a thread that needs a result must be able to
/// compute it itself, as with FetchedRange.
class Background {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Background(int threads) : most_threads_(threads) {}
  ~Background();

  void add(std::function<void()> task);
  /// Adds a task that must not run before `time`.
  void add_at(Clock::time_point time, std::function<void()> task);

 private:
  void work();
  static void run(std::function<void()> task);
  void start_thread();

  const int most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::multimap<Clock::time_point, std::function<void()>> later_;
  int idle_ = 0;
  bool has_ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headrace
