#pragma once

/// \file The prepare stage: raw data in a store → shuffled TFRecord shards, published by a manifest.
/// plan → execute (read slices, write shards) → publish: docs/prepare.md, docs/formats/plan.md.

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/prepare/execute/runner.h"
#include "headrace/prepare/plan/planned_prepare.h"

namespace headrace {

/// Options that do not change the bytes of the result.
struct PrepareOptions {
  Runner runner{};
  int workers = 1;  // threads of this process that execute tasks
  bool overwrite = false;
  /// Bytes of sorted rows that a process without others holds in memory before it writes work objects.
  std::uint64_t memory_bytes = 256 << 20;
  /// How many rows may be rejected. Does not limit a plan that retries: all its rows were rejected before.
  RejectLimit max_rejects{};
  /// If processes share the tasks: how long this process waits while no other process finishes a task.
  std::chrono::milliseconds patience = TaskRunOptions{}.patience;
  /// For kStore.
  LeaseOptions lease{};
  /// For kRanks.
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// For an engine.
  EngineStart engine{};
};

/// Returns `max_rejects`, but no limit for a plan that retries: its rows were rejected before.
RejectLimit reject_limit_of(const PreparePlan& plan, const RejectLimit& max_rejects);

/// Refuses an output that a later run would read as part of `input`. Call before anything is written.
/// \error kInvalidArgument  `output` is `input`, lies in it, or is the root of a store
Status check_places(const InputPlace& input, const Location& output);

/// Runs the stage, or completes an interrupted run of the same plan. The manifest names the run of `actor`.
/// Thread-safe for different outputs. If several processes run one plan at one output, each succeeds. Memory:
/// `memory_bytes`, and for each worker the memory that extract.h and shard_writer.h name.
/// \error kFailedPrecondition  the output was started with another plan (names the differences), or the input
///                             changed while it was read
/// \error kAborted             another process has taken over the output (names it); nothing was published
/// \error kInvalidArgument     the input cannot be prepared: see extract.h, arrange.h
/// \error kCancelled           `stop` was requested
Result<PrepareResult> prepare(const PlannedPrepare& planned, StoreRegistry& stores, const Location& output,
                              const PrepareOptions& options, const Actor& actor,
                              const PrepareProgress& progress, const std::stop_token& stop);

}  // namespace headrace
