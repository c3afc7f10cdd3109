#pragma once

/// \file The context of all tasks of a plan: tasks that read a slice, and tasks that write a shard.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

class MapPool;
class SpillStore;
class StoreRegistry;

/// The context of a task. Its references must outlive it. Several tasks may use it at once.
struct TaskContext {
  const PreparePlan& plan;
  std::string plan_digest;
  const TextEncoders& encoders;
  StoreRegistry& stores;
  SpillStore& spills;
  Location output;
  /// A task that rejects more rows than this fails.
  std::uint64_t max_rejects = 0;
  std::stop_token stop{};
  /// The pool that runs the plan's map. Null without a map, and for publishing.
  MapPool* map = nullptr;
  /// For a trial: how many rows each slice reads from its beginning.
  std::optional<std::uint64_t> trial_rows{};
  /// The generation of the output to which the plan's objects belong.
  std::uint64_t generation = 1;
  /// Number of the entry under which the plan is executed; 0: not claimed yet.
  std::uint64_t entry = 0;

  std::string tag() const { return name_tag(plan_digest, generation); }
  Location work_folder() const { return headrace::work_folder(output, tag()); }
};

}  // namespace headrace
