#include "fuzz/serve_script.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/example_check.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/protocol/grpc_service.h"
#include "headrace/serve/protocol/kserve_v2_grpc.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace {

using namespace headrace;

void check_well_formed(const Result<Bytes>& answer) {
  if (!answer) {
    if (answer.error().code == Code::kInternal) std::abort();
    return;
  }
  WireReader reader(*answer);
  for (WireField field; reader.next(field);) {
  }
  if (reader.malformed()) std::abort();
}

// An answer is a message; the error of a request is one of the client's.
template <typename Request, typename Answer>
void answer_request(const Result<Request>& request, const ServedSignature& signature, std::uint64_t rows_max,
                    const Answer& encode) {
  if (!request) {
    if (request.error().code == Code::kInternal || grpc_message(request.error()).size() > 1024) std::abort();
    return;
  }
  const auto bound = request->bind(signature);
  if (!bound) return;
  if ((*bound)->rows() == 0) std::abort();
  const auto answers = run_request(**bound, rows_max);
  if (answers) check_well_formed(encode(*answers));
}

// The rows of examples are examples, which a signature takes.
template <typename Request>
void fuzz_examples(const Result<Request>& request, std::uint64_t rows_max) {
  if (!request) return;
  const ServedSignature signature{"s",
                                  {{std::string(kExamplesInput), DataType::kBytes, {-1}}},
                                  {{std::string(kClassesOutput), DataType::kBytes, {-1, -1}}},
                                  true};
  const auto check = [](const std::vector<TensorView>& inputs, const std::shared_ptr<const void>& owner) {
    for (const std::string_view text : inputs[0].strings) {
      if (!is_example(as_bytes(text))) std::abort();
    }
    return BatchOutputs{inputs, owner};
  };
  const auto bound = request->bind(signature, ExamplesMethod::kClassify);
  if (!bound || (*bound)->rows() == 0) std::abort();
  static_cast<void>(run_request(**bound, rows_max, check));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const ServedSignature signature = chosen_signature(script.byte());
  const std::uint64_t rows_max = 1 + script.byte() % 8;
  const bool is_infer = script.byte() % 2 == 1;
  const BytesView message = script.take(size);

  static_cast<void>(parse_grpc_method(as_text(message)));
  static_cast<void>(parse_health_request(message));
  static_cast<void>(parse_metadata_request(message));
  static_cast<void>(parse_model_request(message));
  fuzz_examples(ExamplesRequest::parse_message(message, 1 << 16), rows_max);
  fuzz_examples(MultiInferenceRequest::parse(message, 1 << 16), rows_max);
  if (is_infer) {
    const auto request = InferMessage::parse(message);
    answer_request(request, signature, rows_max, [&](const BatchAnswers& answers) {
      return infer_response(answers, signature, *request, "m", 1);
    });
  } else {
    const auto request = PredictRequest::parse(message, 1 << 16);
    answer_request(request, signature, rows_max, [&](const BatchAnswers& answers) {
      return predict_response(answers, signature, *request, "m", 1);
    });
  }
  return 0;
}
