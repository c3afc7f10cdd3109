#pragma once

/// \file The records of a dataset's split as the input of predictions. Each shard is a piece.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/evaluate/exported_model.h"
#include "headrace/predict/predict_input.h"

namespace headrace {

struct DatasetInputOptions {
  std::string split = "test";
  std::optional<std::uint64_t> data_version{};  // number of the manifest; nullopt: the latest
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t memory_budget_bytes = 256 << 20;  // for each piece that is being read
  /// Read the first record, to see whether the records fit the model. Without a manifest, only they can tell.
  bool checks_first = false;
};

/// Opens a split. Borrows the model. An answer begins with the record's `id`: the feature `id`, or the
/// feature of the column that the schema names as the id; without a manifest, the key of a WebDataset sample.
/// If there is no such text, the answer begins with `row`, the number of the record in its shard, from 1,
/// and, if there are several shards, with `source`, the shard's URL.
/// \error as Dataset::open and check_inputs
/// \error kInvalidArgument  with `checks_first`: the first record is intact, but does not fit the model
Result<std::unique_ptr<PredictInput>> open_dataset_input(const ExportedModel& model, const Location& data,
                                                         const DatasetInputOptions& options,
                                                         const std::stop_token& stop);

}  // namespace headrace
