#pragma once

/// \file Asks a model about rows, and writes its answers as bytes.

#include <cstdint>
#include <functional>

#include "headrace/evaluate/predictor.h"
#include "headrace/predict/predict_input.h"
#include "headrace/predict/prediction_writer.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {

/// Not thread-safe, but several of one model may work at the same time. Memory: the answers to a batch.
class RowAnswerer {
 public:
  /// Takes the answer to row number `row` of a batch.
  using Sink = std::function<Status(const RowName& name, const Answers& answers, std::size_t row)>;

  /// `model` must outlive it.
  static Result<RowAnswerer> create(const ExportedModel& model);

  /// Gives the sink the answers to all rows but those of weight 0, and returns how many there were.
  /// \error those of Predictor and the sink
  Result<std::uint64_t> answer(const PredictRows& rows, const Sink& sink);

 private:
  RowAnswerer(const ModelContract& contract, Predictor predictor);

  BatchTensors tensors_;
  Predictor predictor_;
};

/// Not thread-safe, but several writers of one model may work at the same time. Memory: the answers to a
/// batch.
class AnswerWriter {
 public:
  /// Takes bytes, and says how many answers are in them.
  using Sink = std::function<Status(BytesView, std::uint64_t)>;

  /// `model` must outlive it.
  static Result<AnswerWriter> create(const ExportedModel& model, PredictionWriter writer, Sink sink);

  /// Gives the sink the answers to all rows but those of weight 0.
  /// \error those of Predictor and the sink
  Status add(const PredictRows& rows);
  /// Gives the sink the beginning of the format, where there was no row. Call once, at the end.
  Status finish() { return flush(0); }

 private:
  AnswerWriter(const ModelContract& contract, RowAnswerer answerer, PredictionWriter writer, Sink sink);
  Status flush(std::uint64_t answers);

  RowAnswerer answerer_;
  PredictionWriter writer_;
  Sink sink_;
  Bytes bytes_;
};

}  // namespace headrace
