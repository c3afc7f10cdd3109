#include "bindings/python/process.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/registry.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

constexpr std::size_t kKeptEnvironments = 8;

// Set while a thread must not take the GIL: docs/tensorflow-file-systems.md, "Environment".
thread_local bool is_without_gil = false;

void warn(const std::string& text) {
  if (is_without_gil) {
    std::fprintf(stderr, "headrace: warning: %s\n", text.c_str());
  } else if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) {
    throw nb::python_error();
  }
}

// The stores of one environment.
struct OpenStores {
  explicit OpenStores(Environment captured) : environment(std::move(captured)), registry(environment, warn) {}
  const Environment environment;
  StoreRegistry registry;
};

// The stores of one process: those of the last few environments, most recently used first. A warning may run
// any code, so a caller that opens a store holds the stores, but not the mutex.
struct ProcessStores {
  const ProcessMark process;
  std::mutex mutex;
  std::vector<std::shared_ptr<OpenStores>> kept;
  Environment last;  // the environment captured last
  // Stores in memory belong to the process, whatever its environment is, and stay as long as it lives.
  OpenStores in_memory{Environment{}};
};

// Never destroyed: a fork's child must not touch its parent's connections, or a mutex that another thread
// held. When the interpreter ends, nothing is left to be done.
ProcessStores& process_stores() {
  static std::atomic<ProcessStores*> current = nullptr;
  ProcessStores* stores = current;
  while (stores == nullptr || !stores->process.is_here()) {
    auto* const fresh = new ProcessStores();
    if (current.compare_exchange_strong(stores, fresh)) return *fresh;
    delete fresh;
  }
  return *stores;
}

std::shared_ptr<OpenStores> stores_in(const Environment& environment) {
  ProcessStores& stores = process_stores();
  const std::scoped_lock lock(stores.mutex);
  auto& kept = stores.kept;
  auto found = std::ranges::find_if(
      kept, [&](const auto& open) { return open->environment.variables == environment.variables; });
  if (found == kept.end()) {
    if (kept.size() == kKeptEnvironments) kept.pop_back();
    found = kept.insert(kept.end(), std::make_shared<OpenStores>(environment));
  }
  std::rotate(kept.begin(), found, found + 1);
  return kept.front();
}

Result<Location> open_in(std::string_view url, const Environment& environment) {
  if (scheme_of(url) == "memory") return process_stores().in_memory.registry.open(url);
  return stores_in(environment)->registry.open(url);
}

Environment remember(Environment environment) {
  ProcessStores& stores = process_stores();
  const std::scoped_lock lock(stores.mutex);
  return stores.last = std::move(environment);
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Location open_location(std::string_view url) {
  return value_of(open_in(url, remember(Environment::capture())));
}

std::shared_ptr<StoreRegistry> stores_of(std::string_view url) {
  const Environment environment = remember(Environment::capture());
  if (scheme_of(url) == "memory") return {std::shared_ptr<void>(), &process_stores().in_memory.registry};
  const std::shared_ptr<OpenStores> stores = stores_in(environment);
  return {stores, &stores->registry};
}

Location open_location(std::string_view url, const Environment& environment) {
  return value_of(open_in(url, environment));
}

std::string state_of_user() {
  const auto state = state_folder(Environment::capture());
  if (!state)
    raise({Code::kFailedPrecondition,
           "metrics and media are kept on this machine until they are in the store: set HOME, or "
           "XDG_STATE_HOME to a folder"});
  return *state;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  constexpr double kMostSeconds = 100.0 * 365 * 86'400;
  const double bounded = seconds > 0 ? std::min(seconds, kMostSeconds) : 0;
  return std::chrono::milliseconds(static_cast<std::int64_t>(bounded * 1000));
}

void remember_environment() { remember(Environment::capture()); }

Result<Location> open_from_any_thread(std::string_view url) {
  // A thread that Python knows may wait for the GIL. A thread of TensorFlow's may not: the thread that holds
  // the GIL may be waiting for it.
  if (PyGILState_GetThisThreadState() != nullptr) {
    const WhileInterpreterLives lives;
    const PyGILState_STATE state = PyGILState_Ensure();
    remember_environment();
    PyGILState_Release(state);
  }
  ProcessStores& stores = process_stores();
  Environment environment;
  {
    const std::scoped_lock lock(stores.mutex);
    environment = stores.last;
  }
  const bool before = std::exchange(is_without_gil, true);
  auto opened = open_in(url, environment);
  is_without_gil = before;
  return opened;
}

ProcessMark::ProcessMark() : process_(getpid()) {}

bool ProcessMark::is_here() const { return process_ == getpid(); }

void ProcessMark::require_here(std::string_view what) const {
  if (is_here()) return;
  raise({Code::kFailedPrecondition,
         concat(what, " was made in process ", static_cast<std::int64_t>(process_),
                ", and this is a fork of it (", static_cast<std::int64_t>(getpid()),
                "), without its threads: open the data and make the loader in the process that uses it, or "
                "start processes with the spawn method")});
}

TaskThread::~TaskThread() {
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void TaskThread::run(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  task_ = std::move(task);
  changed_.notify_one();
}

void TaskThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return task_ != nullptr || has_ended_; });
    if (task_ == nullptr) return;
    {
      const std::function<void()> task = std::exchange(task_, nullptr);
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

namespace {

constexpr std::chrono::seconds kMostWait{1};
std::atomic<int> returning_threads{0};
std::atomic<bool> has_ended{false};
std::thread::id ending_thread;  // set before has_ended

void end_interpreter() {
  ending_thread = std::this_thread::get_id();
  has_ended = true;
  // A fork's child has a copy of the count, but not the threads that would lower it, so the wait is bounded.
  const auto deadline = std::chrono::steady_clock::now() + kMostWait;
  while (returning_threads > 0 && std::chrono::steady_clock::now() < deadline) {
    const WithoutGil released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void prepare_interpreters_end() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_interpreter));
}

WhileInterpreterLives::WhileInterpreterLives() {
  ++returning_threads;  // before the check, so that a later end of the interpreter waits
  if (!has_ended || ending_thread == std::this_thread::get_id()) return;
  --returning_threads;
  while (true) pause();
}
WhileInterpreterLives::~WhileInterpreterLives() { --returning_threads; }

WithoutGil::WithoutGil() : thread_state_(PyEval_SaveThread()) {}
WithoutGil::~WithoutGil() {
  const WhileInterpreterLives lives;
  PyEval_RestoreThread(static_cast<PyThreadState*>(thread_state_));
}

}  // namespace headrace::python
