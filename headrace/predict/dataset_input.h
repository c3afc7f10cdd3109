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
  /// Reads the first record, to see whether the records fit the model: without a manifest, only they tell.
  bool checks_first = false;
};

/// Borrows the model. An answer begins with the record's `id`: its feature `id`, or that of the column that
/// the schema names as the id; without a manifest, the key of a WebDataset sample. If there is no such text,
/// it begins with `row`, the number of the record in its shard, from 1, and `source`, the shard's URL, if
/// there are several.
/// \error those of Dataset::open and check_inputs
/// \error kInvalidArgument  `checks_first`: the first record is whole, but not what the model takes
Result<std::unique_ptr<PredictInput>> open_dataset_input(const ExportedModel& model, const Location& data,
                                                         const DatasetInputOptions& options,
                                                         const std::stop_token& stop);

}  // namespace headrace
