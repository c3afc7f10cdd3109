#pragma once

/// \file A model's answers to every row of an input, as rows of a table or cache of Apache Ignite:
/// docs/formats/predictions.md, "Tables" and "Caches".

#include "headrace/predict/predict.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

struct TablePredictOptions {
  std::uint64_t batch_size = 512;  // rows given to the model at once
  /// Pieces that are worked on at once. The rows do not depend on it.
  int workers = 1;
};

/// Writes a row for each answer; a row that is there with its key is replaced. After an interruption, the
/// same call writes the same rows again. Only success says that all rows are there.
/// Memory: for each worker what the input holds of a piece, and a batch.
/// \error kCancelled  stopped
/// \error those of the input, Predictor and PredictionTable
Result<PredictResult> predict_to_table(const ExportedModel& model, const PredictInput& input,
                                       const PredictionTable& table, const TablePredictOptions& options,
                                       const OnRows& on_rows, const std::stop_token& stop);

}  // namespace headrace
