#include "headrace/serve/request_log/prediction_log.h"

#include <vector>

#include "headrace/base/wire.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/tensor_message.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

namespace log_field {
constexpr std::uint32_t kMetadata = 1, kPredictLog = 6;       // of PredictionLog
constexpr std::uint32_t kRequest = 1, kResponse = 2;          // of PredictLog
constexpr std::uint32_t kModelSpec = 1, kSamplingConfig = 2;  // of LogMetadata
constexpr std::uint32_t kTimestamp = 4;                       // of LogMetadata
constexpr std::uint32_t kSamplingRate = 1;                    // of SamplingConfig
}  // namespace log_field

// Views one input of a request where it lies in the batches. `texts` holds its byte strings.
Result<AnswerOutput> filled_input(const ReservedRows& rows, std::size_t input, const ServedTensor& served,
                                  bool is_batched, std::vector<std::string_view>& texts) {
  const RowTensor& row = rows.row()[input];
  AnswerOutput out{.name = served.name, .type = row.type, .is_batched = is_batched};
  const std::uint64_t elements = row.shape.elements();
  if (row.type == DataType::kBytes) {
    for (std::uint64_t i = 0; i < rows.rows(); ++i) {
      for (std::uint64_t k = 0; k < elements; ++k) {
        HEADRACE_TRY(const std::string_view text, rows.text(input, i, k));
        texts.push_back(text);
      }
    }
    out.parts = {{{row.type, {}, nullptr, texts}, 0, rows.rows(), row.shape}};
    return out;
  }
  for (std::uint64_t done = 0; done < rows.rows();) {
    const std::span<const std::byte> run = rows.run_at(input, done);
    const std::uint64_t count =
        rows.row_bytes(input) == 0 ? rows.rows() - done : run.size() / rows.row_bytes(input);
    out.parts.push_back({{row.type, {}, run.data(), {}}, 0, count, row.shape});
    done += count;
  }
  return out;
}

Bytes encode_metadata(const ServedSignature& signature, const LoggedFacts& facts) {
  Bytes out;
  append_model_specification(out, log_field::kModelSpec, facts.model, facts.version, signature.name);
  WireWriter writer(out);
  writer.message(log_field::kSamplingConfig,
                 [&](WireWriter& sampling) { sampling.fixed64(log_field::kSamplingRate, facts.fraction); });
  writer.varint(log_field::kTimestamp, static_cast<std::uint64_t>(facts.seconds_since_1970));
  return out;
}

}  // namespace

Result<Bytes> encode_predict_request(const ReservedRows& rows, const ServedSignature& signature,
                                     std::string_view model) {
  Bytes out;
  append_model_specification(out, 1, model, std::nullopt, signature.name);
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    std::vector<std::string_view> texts;
    HEADRACE_TRY(const AnswerOutput input,
                 filled_input(rows, i, signature.inputs[i], signature.is_batched, texts));
    HEADRACE_CHECK(append_tensor_entry(out, 2, input, true));
  }
  return out;
}

Result<Bytes> encode_prediction_log(BytesView predict_request, const BatchAnswers& answers,
                                    const ServedSignature& signature, const LoggedFacts& facts) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs, join_answers(answers, signature, "row"));
  Bytes response;
  for (const AnswerOutput& output : outputs) HEADRACE_CHECK(append_tensor_entry(response, 1, output, true));
  append_model_specification(response, 2, facts.model, facts.version, signature.name);
  Bytes out;
  WireWriter writer(out);
  writer.bytes(log_field::kMetadata, encode_metadata(signature, facts));
  writer.message(log_field::kPredictLog, [&](WireWriter& log) {
    log.bytes(log_field::kRequest, predict_request);
    log.bytes(log_field::kResponse, response);
  });
  return out;
}

}  // namespace headrace
