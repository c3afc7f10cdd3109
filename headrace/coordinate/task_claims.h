#pragma once

/// \file Decides which tasks of a shared plan a process executes. Claims only save work: if two processes
/// execute one task, both write the same bytes.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "headrace/store/location.h"

namespace headrace {

/// Claims tasks for this process. Thread-safe.
class TaskClaims {
 public:
  virtual ~TaskClaims() = default;
  /// Whether this process should execute the task now. If so, call `release` when it is done. If not, another
  /// process executes the task: ask again later.
  virtual Result<bool> claim(std::uint64_t task) = 0;
  virtual void release(std::uint64_t task) = 0;
};

/// Claims the tasks with task mod world_size = rank, without requests to a store. REQUIRES: rank < world_size
std::unique_ptr<TaskClaims> claim_by_rank(std::uint64_t rank, std::uint64_t world_size);

struct LeaseOptions {
  std::chrono::milliseconds renewed_each{10'000};
  /// A process may take over a lease that it has seen unchanged for this long, by its own clock.
  std::chrono::milliseconds stale_after{60'000};
  /// This clock. Tests pass their own.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// Claims tasks by leases: objects `lease-<task>` in `work_folder`, which are created only if absent, and
/// rewritten while the task is executed. `holder` names the process. If the store cannot replace an object
/// only if it has a given version, two processes may take over a stale lease at the same time; then both
/// execute the task. Cost: `claim` and `release` wait for the store; each held lease has a thread.
std::unique_ptr<TaskClaims> claim_by_lease(Location work_folder, std::string holder,
                                           const LeaseOptions& options = {});

}  // namespace headrace
