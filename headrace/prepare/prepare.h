#pragma once

/// \file The prepare stage: raw texts in a store → encoded, shuffled TFRecord shards, published by a
/// manifest. plan → execute (extract, write) → publish; see ARCHITECTURE.md and docs/formats/plan.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/engine/encoder.h"
#include "headrace/prepare/extract.h"
#include "headrace/prepare/shard_writer.h"
#include "headrace/record/manifest.h"
#include "headrace/store/registry.h"

namespace headrace {

struct PrepareOptions {
  std::string layout = "aclimdb";
  std::uint64_t shard_records = 500;
  ShardFormat format{};
  std::uint64_t seed = 44;
  int workers = 1;
  bool overwrite = false;
  /// Texts held in memory before they are spilled to work objects.
  std::uint64_t memory_budget_bytes = 64 << 20;
  ExtractOptions extract{};
};

/// stage ("reading", "writing"), done, total, unit.
using PrepareProgress = std::function<void(std::string_view, std::uint64_t, std::uint64_t, std::string_view)>;

struct PrepareResult {
  std::uint64_t manifest_number = 0;
  std::string manifest_digest;  // SHA-256 (hex) of the manifest
  DatasetAttributes attributes;
  std::uint64_t shards = 0;
  std::uint64_t shards_done_before = 0;  // by an earlier, interrupted run of the same plan
  std::uint64_t text_bytes = 0;
  std::uint64_t shard_bytes = 0;
  bool was_published = false;  // it had been finished before: nothing was done
};

/// Whether a result at `output` would be part of `input` the next time: ask before anything is written.
/// \error kInvalidArgument  `output` is `input`, or lies in it
Status check_places(const Location& input, const Location& output);

/// Runs the stage, or what an interrupted run of the same plan left to do. `run_id` names this run in the
/// manifest.
/// \error kFailedPrecondition  the output was started with another plan: the differences are named
/// \error kInvalidArgument     the input is not fit: see `extract`
Result<PrepareResult> prepare(const Location& input, const Location& output, const TextEncoder& encoder,
                              const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop);

/// What decides the bytes of the result: its digest is the plan's digest.
std::map<std::string, std::string> prepare_plan(const SourceIdentity& input, const TextEncoder& encoder,
                                                const PrepareOptions& options);

}  // namespace headrace
