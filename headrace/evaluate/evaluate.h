#pragma once

/// \file The evaluate stage: takes an exported model and a split of a dataset; returns loss and metrics, and
/// for each target the scores of its kind.

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
  std::optional<std::uint64_t> data_version{};  // of the dataset: number of its manifest; none: the latest
  std::uint64_t batch_size = 512;
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t memory_budget_bytes = 256 << 20;
  /// Reads the content of the worst records, for the page. If one cannot be read, a remark says so.
  bool shows_records = false;
};

/// Records done, and their total.
using OnRecords = std::function<void(std::uint64_t, std::uint64_t)>;

/// Runs the model's eval_step over every record of the split once, in dataset order, on the batches' own
/// buffers. The loss is the mean of the batches' means, weighted by their records.
/// \error kInvalidArgument  a label that is not what its target has (the record is named), or an output of
///                          another shape, or of numbers that are not finite
/// \error kCancelled        stopped
/// \error those of `check_dataset`, Dataset::open and BatchLoader
Result<Evaluation> evaluate(const ExportedModel& model, const Location& data, const EvaluateOptions& options,
                            const OnRecords& on_records, const std::stop_token& stop);

}  // namespace headrace
