#pragma once

/// \file The evaluate stage: takes an exported model and a split of a dataset. Returns loss and metrics, and,
/// for each target, the scores of its kind.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/evaluate/evaluation.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/stream/loader.h"

namespace headrace {

struct EvaluateOptions {
  std::string split = "test";
  std::optional<std::uint64_t> data_version{};  // number of the dataset's manifest; nullopt: the latest
  std::uint64_t batch_size = 512;
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t memory_budget_bytes = 256 << 20;
  /// Read the content of the worst records, for the page. If one cannot be read, a remark says so.
  bool shows_records = false;
};

/// Called with the number of records done, and their total.
using OnRecords = std::function<void(std::uint64_t, std::uint64_t)>;

/// Runs the model's eval_step over every record of the split once, in dataset order, directly on the buffers
/// of the batches. The loss is the mean of the batches' means, weighted by their numbers of records.
/// \error kInvalidArgument  a label does not fit its target (the message names the record); or an output has
///                          another shape, or numbers that are not finite
/// \error kCancelled        `stop` was requested
/// \error as `check_dataset`, Dataset::open and BatchLoader
Result<Evaluation> evaluate(const ExportedModel& model, const Location& data, const EvaluateOptions& options,
                            const OnRecords& on_records, const std::stop_token& stop);

}  // namespace headrace
