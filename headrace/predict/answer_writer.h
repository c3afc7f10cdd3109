#pragma once

/// \file Asks a model about rows, and writes its answers as bytes.

#include <cstdint>
#include <functional>

#include "headrace/evaluate/predictor.h"
#include "headrace/predict/predict_input.h"
#include "headrace/predict/prediction_writer.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {

/// Not thread-safe, but several answerers of one model may work at the same time. Memory: the answers to a
/// batch.
class RowAnswerer {
 public:
  /// Takes the answer to row number `row` of a batch. `name` and `answers` are valid until it returns.
  using Sink = std::function<Status(const RowName& name, const Answers& answers, std::size_t row)>;

  /// `model` must outlive the answerer. \error as Predictor::create
  static Result<RowAnswerer> create(const ExportedModel& model);

  /// Passes the answer to each row to the sink, except rows of weight 0. Returns the number of answers.
  /// \error of Predictor or the sink
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
  /// Takes bytes, and the number of answers in them. The bytes are valid until it returns.
  using Sink = std::function<Status(BytesView, std::uint64_t)>;

  /// `model` must outlive the writer. \error as Predictor::create
  static Result<AnswerWriter> create(const ExportedModel& model, PredictionWriter writer, Sink sink);

  /// Passes the answers to all rows to the sink, except to rows of weight 0.
  /// \error of Predictor or the sink
  Status add(const PredictRows& rows);
  /// If there was no row, passes the beginning of the format to the sink. Call once, at the end.
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
