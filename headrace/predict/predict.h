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
  /// Must be there for kParquet: converts files below `temporary_folder`.
  ToParquet to_parquet{};
  std::string temporary_folder{};
};

struct PredictResult {
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t left_out = 0;        // records or rows that could not be read
  std::vector<std::string> remarks;  // the first hundred, for people
  bool was_published = false;        // by an earlier process: nothing was done
};

/// Rows done, and their total, or 0 where it is not known.
using OnRows = std::function<void(std::uint64_t, std::uint64_t)>;

/// Writes one object for each piece of the input, then the manifest. After an interruption, the same call
/// begins again. Memory: for each worker what the input holds of a piece.
/// \error kFailedPrecondition  `output` was begun with another model, another input or other options: the
///                             message names them
/// \error kInvalidArgument     `output` holds something else
/// \error kAborted             somebody else took the output meanwhile: names them; nothing was published
/// \error kCancelled           stopped
/// \error those of the input and Predictor
Result<PredictResult> predict(const ExportedModel& model, const PredictInput& input, const Location& output,
                              const PredictOptions& options, const Actor& actor, const OnRows& on_rows,
                              const std::stop_token& stop);

}  // namespace headrace
