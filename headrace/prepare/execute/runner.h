#pragma once

/// \file Who executes the tasks of a plan. docs/prepare.md, "Runners".

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
  int threads = 0;     // of kLocal; 0: not said
  std::string target;  // Ray's address, Beam's runner; empty: its default

  /// Whether processes that were started alike share the tasks.
  bool is_joined() const { return kind == Kind::kStore || kind == Kind::kRanks; }
  /// Whether an engine deals the tasks out, through an adapter in Python.
  bool is_engine() const { return kind == Kind::kRay || kind == Kind::kBeam; }
};

/// "local", "local:8", "store", "ranks", "ray", "ray://HOST:PORT", "beam", "beam:RUNNER".
/// \error kInvalidArgument
Result<Runner> parse_runner(std::string_view text);

/// How the adapter of an engine is started: python/headrace/_src/runners. Borrows `environment`.
struct EngineStart {
  const Environment* environment = nullptr;
  /// Gives the folder of the Python package that belongs to this program.
  std::function<Result<std::string>()> python_package{};
  std::vector<std::string> options{};          // "key=value", of the engine
  std::vector<std::string> execute_options{};  // of each task's `headrace execute`: "--max-rejects=1%"
  /// Is told what the adapter says on its standard error, by the line.
  std::function<void(std::string_view)> note{};
};

/// Has the engine execute all tasks. `progress` is told what the store shows of them.
/// \error kUnknown    the engine failed: in the words of its adapter
/// \error kNotFound   there is no Python
/// \error kCancelled
Status run_engine(PlanTasks& tasks, const Runner& runner, const EngineStart& start,
                  const PrepareProgress& progress);

}  // namespace headrace
