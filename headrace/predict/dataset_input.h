#pragma once

/// \file The records of a dataset's split as what is predicted: a piece is a shard.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/evaluate/exported_model.h"
#include "headrace/predict/predict_input.h"

namespace headrace {

struct DatasetInputOptions {
  std::string split = "test";
  std::optional<std::uint64_t> data_version{};  // number of the manifest; none: the latest
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t memory_budget_bytes = 256 << 20;  // of each piece that is read
};

/// Borrows the model. An answer begins with the record's `id`: its feature `id`, or that of the column that
/// the schema names as the id; nothing, if there is no such text.
/// \error those of Dataset::open and check_inputs
Result<std::unique_ptr<PredictInput>> open_dataset_input(const ExportedModel& model, const Location& data,
                                                         const DatasetInputOptions& options,
                                                         const std::stop_token& stop);

}  // namespace headrace
