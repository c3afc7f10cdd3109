#pragma once

/// \file Runners, which execute the tasks of a plan. docs/prepare.md, "Runners".

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/prepare/execute/task_runner.h"

namespace headrace {

struct Runner {
  enum class Kind : std::uint8_t { kLocal, kStore, kRanks, kRay, kBeam };
  Kind kind = Kind::kLocal;
  int threads = 0;     // of kLocal; 0: not given
  std::string target;  // Ray's address, or Beam's runner; empty: the default

  /// True if several processes that were started with the same command share the tasks.
  bool is_joined() const { return kind == Kind::kStore || kind == Kind::kRanks; }
  /// True if an engine distributes the tasks, through an adapter in Python.
  bool is_engine() const { return kind == Kind::kRay || kind == Kind::kBeam; }
};

/// Parses "local", "local:8", "store", "ranks", "ray", "ray://HOST:PORT", "beam", or "beam:RUNNER".
/// \error kInvalidArgument  it is none of these
Result<Runner> parse_runner(std::string_view text);

/// How to start the adapter of an engine: python/headrace/_src/runners. Borrows `environment`.
struct EngineStart {
  const Environment* environment = nullptr;
  /// Returns the folder of the Python package that belongs to this program.
  std::function<Result<std::string>()> python_package{};
  std::vector<std::string> options{};          // "key=value", for the engine
  std::vector<std::string> execute_options{};  // for each `headrace execute`: "--max-rejects=1%"
  /// Called with each line that the adapter writes to its standard error.
  std::function<void(std::string_view)> note{};
};

/// Lets the engine execute all tasks. Calls `progress` with the progress that the store shows.
/// \error kUnknown    the engine failed; quotes its adapter
/// \error kNotFound   there is no Python
/// \error kCancelled  the run was stopped
Status run_engine(PlanTasks& tasks, const Runner& runner, const EngineStart& start,
                  const PrepareProgress& progress);

}  // namespace headrace
