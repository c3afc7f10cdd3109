#pragma once

/// \file The prepare stage: raw data in a store → shuffled TFRecord shards, published by a manifest.
/// plan → execute (read slices, write shards) → publish: docs/prepare.md, docs/formats/plan.md.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "headrace/prepare/execute/task_runner.h"

namespace headrace {

/// What does not decide the bytes of the result.
struct PrepareOptions {
  int workers = 1;
  bool overwrite = false;
  /// Sorted rows held in memory before they become work objects.
  std::uint64_t memory_bytes = 256 << 20;
  RejectLimit max_rejects{};
  MapPool* map = nullptr;  // of a plan with a map
};

/// Whether a result at `output` would be part of `input` the next time: ask before anything is written.
/// \error kInvalidArgument  `output` is `input`, or lies in it; or is the root of a store
Status check_places(const Location& input, const Location& output);

/// Runs the stage, or what an interrupted run of the same plan left to do. `run_id` names this run in the
/// manifest. Thread-safe for different outputs; of several processes with one plan at one output each
/// succeeds. Memory: `memory_bytes`, and what each worker takes: see extract.h and shard_writer.h.
/// \error kFailedPrecondition  the output was started with another plan: the differences are named; or the
///                             input changed while it was read
/// \error kInvalidArgument     the input is not fit: see extract.h, arrange.h
Result<PrepareResult> prepare(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                              const Location& output, const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop);

}  // namespace headrace
