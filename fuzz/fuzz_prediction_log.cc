#include "fuzz/serve_script.h"
#include "headrace/prepare/table/record_source.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/record/logged_request.h"
#include "headrace/record/tfrecord.h"
#include "headrace/serve/protocol/tensorflow_predict.h"
#include "headrace/serve/request_log/prediction_log.h"

using namespace headrace;

namespace {

// `prepare` reads the same rows, however the file comes.
void read_rows(BytesView content, std::size_t piece_bytes) {
  constexpr std::uint64_t kCellLimit = 1 << 16;
  const auto whole = parsed_rows(*make_request_log_parser(kCellLimit), as_text(content), content.size() + 1);
  const auto pieces = parsed_rows(*make_request_log_parser(kCellLimit), as_text(content), piece_bytes);
  if (whole != pieces) std::abort();
}

}  // namespace

// Records of a log of requests, as a warm-up takes them: PredictionLog messages, and the requests in them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const ServedSignature signature = chosen_signature(script.byte());
  const bool is_one = script.byte() % 2 == 1;
  Bytes log;
  while (!script.empty()) append_record(log, script.take(is_one ? size : 4U * script.byte()));
  read_rows(log, 1 + size % 50);
  RecordScanner scanner(log);
  for (BytesView record; scanner.next(record) == ScanOutcome::kRecord;) {
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
  }
  return 0;
}
