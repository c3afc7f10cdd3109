#pragma once

/// \file The predict stage: an exported model's answers to every record of a split, as objects in a store.
/// Output format: docs/formats/predictions.md.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/evaluate/evaluate.h"
#include "headrace/evaluate/exported_model.h"

namespace headrace {

struct PredictOptions {
  std::string split = "test";
  std::optional<std::uint64_t> data_version{};  // of the dataset: number of its manifest; none: the latest
  std::uint64_t batch_size = 512;               // records given to the model at once
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// Shards that are worked on at once. The result does not depend on it.
  int workers = 1;
  bool overwrite = false;
  /// Bounds what each worker's loader holds.
  std::uint64_t memory_budget_bytes = 256 << 20;
};

struct PredictResult {
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t corrupt_records = 0;  // left out
  std::vector<std::string> remarks;   // the first hundred, for people
  bool was_published = false;         // by an earlier process: nothing was done
};

/// Writes one object for each shard of the split, then the manifest. After an interruption, the same call
/// begins again. Memory: for each worker a loader, within its budget.
/// \error kFailedPrecondition  `output` was begun with another model, other data or other options: the
///                             message names them
/// \error kInvalidArgument     `output` holds something else
/// \error kAborted             somebody else took the output meanwhile: names them; nothing was published
/// \error kCancelled           stopped
/// \error those of `check_dataset`, Dataset::open and Predictor
Result<PredictResult> predict(const ExportedModel& model, const Location& data, const Location& output,
                              const PredictOptions& options, const Actor& actor, const OnRecords& on_records,
                              const std::stop_token& stop);

}  // namespace headrace
