#include "bindings/python/process.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

constexpr std::size_t kKeptEnvironments = 8;

// The stores of one process in one environment.
struct OpenStores {
  explicit OpenStores(Environment captured) : environment(std::move(captured)), registry(environment, warn) {}
  static void warn(const std::string& text) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }
  const ProcessMark process;
  const Environment environment;
  StoreRegistry registry;
};

// Guarded by the GIL, which a warning may give away: whoever opens something holds the stores. The last ones
// are never destroyed: a fork's child must not touch its parent's connections, and at the interpreter's end
// nothing is left to be done.
std::shared_ptr<OpenStores> stores_in(const Environment& environment) {
  using Kept = std::vector<std::shared_ptr<OpenStores>>;  // the last used come first
  static auto& kept = *new Kept();
  if (!kept.empty() && !kept.front()->process.is_here()) new Kept(std::exchange(kept, {}));
  auto found = std::ranges::find_if(
      kept, [&](const auto& stores) { return stores->environment.variables == environment.variables; });
  if (found == kept.end()) {
    if (kept.size() == kKeptEnvironments) kept.pop_back();
    found = kept.insert(kept.end(), std::make_shared<OpenStores>(environment));
  }
  std::rotate(kept.begin(), found, found + 1);
  return kept.front();
}

}  // namespace

Location open_location(std::string_view url) { return open_location(url, Environment::capture()); }

Location open_location(std::string_view url, const Environment& environment) {
  if (!url.starts_with("memory://")) return value_of(stores_in(environment)->registry.open(url));
  // These are the process's, whatever its environment is, and stay for as long as it lives.
  static auto* in_memory = new OpenStores({});
  if (!in_memory->process.is_here()) in_memory = new OpenStores({});
  return value_of(in_memory->registry.open(url));
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
  // A fork's child has its parent's count, but not the threads that would lower it.
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
  ++returning_threads;  // before the look, so that whoever ends the interpreter after it waits
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
