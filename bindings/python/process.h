#pragma once

/// \file State of this process: its stores, its identity across a fork, and calls that Ctrl-C ends.

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "bindings/python/errors.h"
#include "headrace/store/registry.h"

namespace headrace::python {

/// How often a blocked call looks for signals.
inline constexpr std::chrono::milliseconds kSignalInterval{100};

/// Seconds since 1970-01-01 UTC, of the system's clock.
double now_s();

/// Opens a URL with this process's environment as it is now: a variable that was set in a notebook counts
/// from the next call on. REQUIRES: the GIL, which also guards the environment against os.environ
/// \error as StoreRegistry::open, raised
Location open_location(std::string_view url);
/// The stores that `open_location` opens that URL in. REQUIRES: the GIL
std::shared_ptr<StoreRegistry> stores_of(std::string_view url);
/// For threads that may not be Python's, with or without the GIL: the environment is captured if the thread
/// is Python's, else it is the one that was captured last. Warnings go to stderr.
/// \error as StoreRegistry::open
Result<Location> open_from_any_thread(std::string_view url);
/// Captures the environment for those. REQUIRES: the GIL
void remember_environment();
/// The same in another environment. Equal environments share their stores, with all connections; those of the
/// last few are kept.
Location open_location(std::string_view url, const Environment& environment);

/// Where this user keeps, on this machine, what is not in a store yet. REQUIRES: the GIL
/// \error kFailedPrecondition  there is no such folder; raised
std::string state_of_user();

/// A time that a program gives: 0 if it is negative or not a number, and a hundred years at most.
std::chrono::milliseconds milliseconds_of(double seconds);

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

/// Has `atexit` know this module. At its end the interpreter unwinds daemon threads, and frameworks', that
/// ask for the GIL; through C++ that would end the process with SIGABRT. From `atexit` on, those that would
/// come back from here wait for the end of the process instead. REQUIRES: the GIL
void prepare_interpreters_end();

/// While it lives, the interpreter does not end: for a thread that is about to take the GIL, and then to run
/// Python code from within C++. At the interpreter's end, the constructor does not return.
class WhileInterpreterLives {
 public:
  WhileInterpreterLives();
  ~WhileInterpreterLives();
  WhileInterpreterLives(const WhileInterpreterLives&) = delete;
  WhileInterpreterLives& operator=(const WhileInterpreterLives&) = delete;
};

/// Gives the GIL back for as long as it lives. REQUIRES: the GIL
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  void* thread_state_;
};

/// Holds something with threads or connections. A fork's child has neither: whoever asks for it there is
/// refused, and when it is dropped there, it is left alone. REQUIRES: the GIL, for all of it
template <typename T>
class OfProcess {
 public:
  /// `name` begins the message of a refusal, and lives as long as the program: "this loader".
  template <typename... Arguments>
  explicit OfProcess(const char* name, Arguments&&... arguments)
      : name_(name), value_(new T{std::forward<Arguments>(arguments)...}) {}

  bool is_here() const { return value_.get_deleter().process.is_here(); }
  /// For all that may wait, read, or take a lock. \error kFailedPrecondition in a fork's child, raised
  T& here() const {
    value_.get_deleter().process.require_here(name_);
    return *value_;
  }
  /// Also in a fork's child: only for what lies in memory and never changes.
  const T& anywhere() const { return *value_; }

 private:
  struct Drop {
    ProcessMark process;
    void operator()(T* value) const {
      if (!process.is_here()) return;
      const WithoutGil released;  // threads may have to be joined
      delete value;
    }
  };
  const char* name_;
  std::unique_ptr<T, Drop> value_;
};

/// Raises KeyboardInterrupt, or what a signal's handler raised. REQUIRES: the GIL
void check_signals();

/// A thread for tasks, one at a time; started for the first one. For whoever has many short ones: to start a
/// thread for each would take 50 µs. Not thread-safe.
class TaskThread {
 public:
  TaskThread() = default;
  /// REQUIRES: no task is running
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// REQUIRES: no task is running. Throws std::system_error if the system refuses a thread.
  void run(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool has_ended_ = false;
  std::thread thread_;
};

/// Runs `work(stop_token)`, which returns a Result or Status, on `thread` and without the GIL; looks for
/// signals meanwhile. A signal stops the work, waits for its end, and is raised. The token may be kept: once
/// the work has ended, nobody stops it. REQUIRES: the GIL
/// \error what `work` returns; and as error_of, if it throws or the system refuses a thread
template <typename Work>
auto run_interruptibly(TaskThread& thread, Work work) -> decltype(work(std::stop_token{}));
/// The same on a thread of its own.
template <typename Work>
auto run_interruptibly(Work work) -> decltype(work(std::stop_token{})) {
  TaskThread thread;
  return run_interruptibly(thread, std::move(work));
}

// ---- implementation --------------------------------------------------------------------------------

template <typename Work>
auto run_interruptibly(TaskThread& thread, Work work) -> decltype(work(std::stop_token{})) {
  using Outcome = decltype(work(std::stop_token{}));
  std::stop_source stop;
  std::future<Outcome> outcome;
  const auto is_ready = [&] {
    const WithoutGil released;
    return outcome.wait_for(kSignalInterval) == std::future_status::ready;
  };
  try {
    const auto task = std::make_shared<std::packaged_task<Outcome()>>([&] { return work(stop.get_token()); });
    outcome = task->get_future();
    thread.run([task] { (*task)(); });
    while (!is_ready()) check_signals();
    return outcome.get();
  } catch (const nanobind::python_error&) {  // whatever a signal's handler raised goes on to the caller
    const WithoutGil released;
    stop.request_stop();
    outcome.wait();
    throw;
  } catch (const std::exception& exception) {
    return error_of(exception);
  }
}

}  // namespace headrace::python
