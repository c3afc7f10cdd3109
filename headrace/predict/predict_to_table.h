#pragma once

/// \file Writes a model's answers to every row of an input as rows of a table or cache of Apache Ignite:
/// docs/formats/predictions.md, "Tables" and "Caches".

#include "headrace/predict/predict.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

struct TablePredictOptions {
  std::uint64_t batch_size = 512;  // rows given to the model at once
  /// Pieces that are worked on at once. The rows do not depend on it.
  int workers = 1;
};

/// Writes a row for each answer; replaces a row that has the same key. After an interruption, the same call
/// writes the same rows again. All rows are written only if it returns success.
/// Memory: for each worker, the part of a piece that the input holds, and a batch.
/// \error kCancelled  `stop` was requested
/// \error of the input, Predictor or PredictionTable
Result<PredictResult> predict_to_table(const ExportedModel& model, const PredictInput& input,
                                       const PredictionTable& table, const TablePredictOptions& options,
                                       const OnRows& on_rows, const std::stop_token& stop);

}  // namespace headrace
