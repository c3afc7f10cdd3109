#include "fuzz/serve_script.h"
#include "headrace/record/logged_request.h"
#include "headrace/record/tfrecord.h"
#include "headrace/serve/protocol/tensorflow_predict.h"
#include "headrace/serve/request_log/prediction_log.h"

using namespace headrace;

// A log of requests, as a warm-up takes it: records, PredictionLog messages, and the requests in them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const ServedSignature signature = chosen_signature(script.byte());
  const bool is_framed = script.byte() % 2 == 1;
  const BytesView content = script.take(size);
  BytesView record = content;
  RecordScanner scanner(content);
  do {
    if (is_framed && scanner.next(record) != ScanOutcome::kRecord) break;
    const auto message = logged_predict_request(record);
    if (!message || !*message) continue;
    const auto request = PredictRequest::parse(**message, 1 << 16);
    if (!request) continue;
    const auto bound = request->bind(signature);
    if (!bound) continue;
    const auto answers = run_request(**bound);
    if (!answers) continue;
    const auto again = encode_prediction_log(**message, *answers, signature, {.model = "m"});
    if (again && as_text(**logged_predict_request(*again)) != as_text(**message)) std::abort();
  } while (is_framed);
  return 0;
}
