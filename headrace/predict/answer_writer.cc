#include "headrace/predict/answer_writer.h"

namespace headrace {

Result<AnswerWriter> AnswerWriter::create(const ExportedModel& model, PredictionWriter writer, Sink sink) {
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  return AnswerWriter(model.contract, std::move(predictor), std::move(writer), std::move(sink));
}

AnswerWriter::AnswerWriter(const ModelContract& contract, Predictor predictor, PredictionWriter writer,
                           Sink sink)
    : tensors_(contract.binding.input_features()),
      predictor_(std::move(predictor)),
      writer_(std::move(writer)),
      sink_(std::move(sink)) {
  writer_.begin(AnswerFormat(contract), bytes_);
}

Status AnswerWriter::add(const PredictRows& given) {
  const float* weights = given.batch.weights();
  std::uint64_t rows = given.batch.rows;
  while (rows > 0 && weights[rows - 1] == 0) --rows;  // what fills up the last batch
  if (rows == 0) return {};
  HEADRACE_TRY(const std::span<const TensorView> columns, tensors_.view(given.batch, rows));
  HEADRACE_TRY(const Answers answers, predictor_.run(columns, rows));
  std::uint64_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (weights[row] == 0) continue;
    writer_.add(given.names[row], answers, row, bytes_);
    ++count;
  }
  return flush(count);
}

Status AnswerWriter::flush(std::uint64_t answers) {
  HEADRACE_CHECK(sink_(bytes_, answers));
  bytes_.clear();
  return {};
}

}  // namespace headrace
