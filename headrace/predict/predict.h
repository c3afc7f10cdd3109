#pragma once

/// \file The predict stage: an exported model's answers to every row of an input, as objects in a store.
/// Output format: docs/formats/predictions.md.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/predict/predict_input.h"
#include "headrace/predict/prediction_shard.h"
#include "headrace/predict/prediction_writer.h"

namespace headrace {

struct PredictOptions {
  std::uint64_t batch_size = 512;  // rows given to the model at once
  /// Pieces that are worked on at once. The result does not depend on it.
  int workers = 1;
  bool overwrite = false;
  PredictionFormat format = PredictionFormat::kJsonLines;
  /// Converts files below `temporary_folder`. Required for kParquet.
  ToParquet to_parquet{};
  std::string temporary_folder{};
};

struct PredictResult {
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t left_out = 0;        // records or rows that could not be read
  std::vector<std::string> remarks;  // the first hundred, for people
  bool was_published = false;        // an earlier process has published the result; nothing was done
};

/// Called with the number of rows done, and their total, or 0 if it is not known. Calls do not overlap.
using OnRows = std::function<void(std::uint64_t, std::uint64_t)>;

/// Writes one object for each piece of the input, then the manifest. After an interruption, the same call
/// starts from the beginning. If the result is already published, only returns it. Memory: for each worker,
/// the part of a piece that the input holds.
/// \error kFailedPrecondition  `output` was begun with another model, another input or other options: the
///                             message names them
/// \error kInvalidArgument     `output` holds something else
/// \error kAborted             another process has taken over the output: the message names it; nothing was
///                             published
/// \error kCancelled           `stop` was requested
/// \error of the input, Predictor or the store
Result<PredictResult> predict(const ExportedModel& model, const PredictInput& input, const Location& output,
                              const PredictOptions& options, const Actor& actor, const OnRows& on_rows,
                              const std::stop_token& stop);

}  // namespace headrace
