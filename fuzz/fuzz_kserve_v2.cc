#include "fuzz/serve_script.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/protocol/kserve_v2.h"
#include "headrace/serve/protocol/kserve_v2_request.h"

// A path has the name that is read from it; an answer's header is JSON, and as much binary data
// follows as the header says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const ServedSignature signature = chosen_signature(script.byte());
  const std::uint64_t rows_max = 1 + script.byte() % 8;
  const unsigned header = script.word();
  const std::string_view body = as_text(script.take(size));

  if (const auto route = parse_infer_route(rows_max % 2 == 0 ? "GET" : "POST", body);
      route && route->model.name.size() > body.size())
    std::abort();
  const auto header_bytes = header == 0 ? std::nullopt : std::optional<std::uint64_t>(header);
  const auto request = InferRequest::parse(body, header_bytes);
  if (!request) return 0;
  const auto bound = request->bind(signature);
  if (!bound) return 0;
  if ((*bound)->rows() == 0) std::abort();
  const auto answers = run_request(**bound, rows_max);
  if (!answers) return 0;
  const auto answer = infer_answer(*answers, signature, request->answer_form(), "m", 1);
  if (!answer) {
    if (answer.error().code == Code::kInternal) std::abort();
    return 0;
  }
  const std::string_view json = std::string_view(answer->body).substr(0, answer->header_bytes.value_or(-1));
  const auto document = JsonDocument::parse(json);
  if (!document) std::abort();
  std::uint64_t binary = 0;
  for (const JsonNode& output : document->root().find("outputs")->elements()) {
    const auto parameters = output.find("parameters");
    if (parameters) binary += static_cast<std::uint64_t>(parameters->find("binary_data_size")->int64());
  }
  if (json.size() + binary != answer->body.size()) std::abort();
  return 0;
}
