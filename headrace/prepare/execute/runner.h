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
  std::string target;  // Ray's address, Beam's runner; empty: its default

  /// Whether the tasks are shared by several processes that were started with the same command.
  bool is_joined() const { return kind == Kind::kStore || kind == Kind::kRanks; }
  /// Whether an engine distributes the tasks, through an adapter in Python.
  bool is_engine() const { return kind == Kind::kRay || kind == Kind::kBeam; }
};

/// "local", "local:8", "store", "ranks", "ray", "ray://HOST:PORT", "beam", "beam:RUNNER".
/// \error kInvalidArgument
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

/// Lets the engine execute all tasks. Calls `progress` with what the store shows of them.
/// \error kUnknown    the engine failed: quotes its adapter
/// \error kNotFound   there is no Python
/// \error kCancelled
Status run_engine(PlanTasks& tasks, const Runner& runner, const EngineStart& start,
                  const PrepareProgress& progress);

}  // namespace headrace
