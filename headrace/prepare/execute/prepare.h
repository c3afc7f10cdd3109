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

/// What does not decide the bytes of the result.
struct PrepareOptions {
  Runner runner{};
  int workers = 1;  // that execute tasks in this process
  bool overwrite = false;
  /// Of a process that is alone: sorted rows held in memory before they become work objects.
  std::uint64_t memory_bytes = 256 << 20;
  /// Of a plan that retries nothing: all that it reads were allowed to be rejected before.
  RejectLimit max_rejects{};
  /// Of processes that share the tasks: how long this one waits for the others'.
  std::chrono::milliseconds patience = TaskRunOptions{}.patience;
  /// With kStore.
  LeaseOptions lease{};
  /// With kRanks.
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// With an engine.
  EngineStart engine{};
};

/// As `max_rejects` says, or all of a plan that retries: they were allowed to be rejected before.
RejectLimit reject_limit_of(const PreparePlan& plan, const RejectLimit& max_rejects);

/// Whether a result at `output` would be part of `input` the next time: ask before anything is written.
/// \error kInvalidArgument  `output` is `input`, or lies in it; or is the root of a store
Status check_places(const Location& input, const Location& output);

/// Runs the stage, or what an interrupted run of the same plan left to do. `run_id` names this run in the
/// manifest. Thread-safe for different outputs; of several processes with one plan at one output each
/// succeeds. Memory: `memory_bytes`, and what each worker takes: see extract.h and shard_writer.h.
/// \error kFailedPrecondition  the output was started with another plan: the differences are named; or the
///                             input changed while it was read
/// \error kInvalidArgument     the input is not fit: see extract.h, arrange.h
Result<PrepareResult> prepare(const PlannedPrepare& planned, StoreRegistry& stores, const Location& output,
                              const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop);

}  // namespace headrace
