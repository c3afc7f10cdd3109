#include "headrace/predict/predict_to_table.h"

#include <mutex>

#include "headrace/evaluate/evaluation.h"
#include "headrace/os/parallel.h"
#include "headrace/predict/answer_writer.h"

namespace headrace {
namespace {

// Answers the rows of one piece. Calls `on_rows` with the number of rows after they are written.
Status predict_piece(const ExportedModel& model, PieceReader& reader, const PredictionTable& table,
                     const std::function<void(std::uint64_t)>& on_rows, const std::stop_token& stop) {
  HEADRACE_TRY(RowAnswerer answerer, RowAnswerer::create(model));
  PredictionTable::Batch batch(table);
  while (true) {
    Result<std::optional<PredictRows>> rows = reader.next();
    if (!rows && rows.error().code == Code::kCancelled)
      return Error{Code::kCancelled, "predicting was stopped; run the same command to start it again"};
    if (!rows) return std::move(rows).error();
    if (!*rows) return batch.finish(stop);
    HEADRACE_TRY(const std::uint64_t count,
                 answerer.answer(**rows, [&](const RowName& name, const Answers& answers, std::size_t row) {
                   return batch.add(name, answers, row, stop);
                 }));
    on_rows(count);
  }
}

}  // namespace

Result<PredictResult> predict_to_table(const ExportedModel& model, const PredictInput& input,
                                       const PredictionTable& table, const TablePredictOptions& options,
                                       const OnRows& on_rows, const std::stop_token& stop) {
  PredictResult result{.remarks = input.remarks()};
  std::mutex mutex;
  HEADRACE_CHECK(parallel_for(options.workers, input.pieces(), [&](std::size_t piece) -> Status {
    HEADRACE_TRY(const std::unique_ptr<PieceReader> reader, input.open(piece, options.batch_size, stop));
    const auto count = [&](std::uint64_t rows) {
      const std::lock_guard lock(mutex);
      result.records += rows;
      on_rows(result.records, input.records());
    };
    if (const Status done = predict_piece(model, *reader, table, count, stop); !done) return done;
    const std::lock_guard lock(mutex);
    result.left_out += reader->left_out();
    for (std::string& remark : reader->remarks()) add_remark(result.remarks, std::move(remark));
    return {};
  }));
  return result;
}

}  // namespace headrace
