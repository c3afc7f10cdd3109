#include "headrace/predict/answer_writer.h"

namespace headrace {

Result<RowAnswerer> RowAnswerer::create(const ExportedModel& model) {
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  return RowAnswerer(model.contract, std::move(predictor));
}

RowAnswerer::RowAnswerer(const ModelContract& contract, Predictor predictor)
    : tensors_(contract.binding.input_features()), predictor_(std::move(predictor)) {}

Result<std::uint64_t> RowAnswerer::answer(const PredictRows& given, const Sink& sink) {
  const float* weights = given.batch.weights();
  std::uint64_t rows = given.batch.rows;
  while (rows > 0 && weights[rows - 1] == 0) --rows;  // rows that only fill up the last batch
  std::uint64_t count = 0;
  if (rows == 0) return count;
  HEADRACE_TRY(const std::span<const TensorView> columns, tensors_.view(given.batch, rows));
  HEADRACE_TRY(const Answers answers, predictor_.run(columns, rows));
  for (std::size_t row = 0; row < rows; ++row) {
    if (weights[row] == 0) continue;
    HEADRACE_CHECK(sink(given.names[row], answers, row));
    ++count;
  }
  return count;
}

Result<AnswerWriter> AnswerWriter::create(const ExportedModel& model, PredictionWriter writer, Sink sink) {
  HEADRACE_TRY(RowAnswerer answerer, RowAnswerer::create(model));
  return AnswerWriter(model.contract, std::move(answerer), std::move(writer), std::move(sink));
}

AnswerWriter::AnswerWriter(const ModelContract& contract, RowAnswerer answerer, PredictionWriter writer,
                           Sink sink)
    : answerer_(std::move(answerer)), writer_(std::move(writer)), sink_(std::move(sink)) {
  writer_.begin(AnswerFormat(contract), bytes_);
}

Status AnswerWriter::add(const PredictRows& given) {
  HEADRACE_TRY(const std::uint64_t count,
               answerer_.answer(given, [this](const RowName& name, const Answers& answers, std::size_t row) {
                 writer_.add(name, answers, row, bytes_);
                 return Status();
               }));
  return count == 0 ? Status() : flush(count);
}

Status AnswerWriter::flush(std::uint64_t answers) {
  HEADRACE_CHECK(sink_(bytes_, answers));
  bytes_.clear();
  return {};
}

}  // namespace headrace
