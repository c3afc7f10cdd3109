#pragma once

/// \file Which of the tasks of a shared plan a process executes. Claims only spare work: two who execute one
/// task write the same bytes.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "headrace/store/location.h"

namespace headrace {

/// Several threads may claim at once.
class TaskClaims {
 public:
  virtual ~TaskClaims() = default;
  /// Whether this process is to execute the task now. What was claimed is given back with `release`.
  virtual Result<bool> claim(std::uint64_t task) = 0;
  virtual void release(std::uint64_t task) = 0;
};

/// Those with task mod world_size = rank. REQUIRES: rank < world_size
std::unique_ptr<TaskClaims> claim_by_rank(std::uint64_t rank, std::uint64_t world_size);

struct LeaseOptions {
  std::chrono::milliseconds renewed_each{10'000};
  /// A lease that has stood still for so long, by this process's clock, may be taken over.
  std::chrono::milliseconds stale_after{60'000};
};

/// By leases: objects `lease-<task>` in `work_folder`, created if absent and rewritten while the task is
/// executed. `holder` tells processes apart. In a store that cannot replace one version only, two may take
/// over a stale lease at once: then both execute the task.
std::unique_ptr<TaskClaims> claim_by_lease(Location work_folder, std::string holder,
                                           const LeaseOptions& options = {});

}  // namespace headrace
