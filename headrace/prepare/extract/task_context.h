#pragma once

/// \file What all tasks of a plan are given: those that read a slice, and those that write a shard.

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

/// What a task works with. Borrowed; all of it may be used by several tasks at once.
struct TaskContext {
  const PreparePlan& plan;
  std::string plan_digest;
  const TextEncoders& encoders;
  StoreRegistry& stores;
  SpillStore& spills;
  Location output;
  /// More rejected rows than this in one task end it.
  std::uint64_t max_rejects = 0;
  std::stop_token stop{};
  /// Of a plan with a map, what runs it; publishing needs none.
  MapPool* map = nullptr;
  /// Of a trial, which takes the first rows of each slice: how many.
  std::optional<std::uint64_t> trial_rows{};

  Location work_folder() const { return headrace::work_folder(output, plan_digest); }
};

}  // namespace headrace
