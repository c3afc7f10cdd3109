#include "fuzz/serve_script.h"
#include "headrace/base/json.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/protocol/rest_v1.h"
#include "headrace/serve/protocol/rest_v1_request.h"

namespace {

using headrace::JsonDocument;
using headrace::RestForm;
using headrace::ServedSignature;

// The answer to a body; empty if it has none.
std::string answer(std::string_view body, const ServedSignature& signature, std::uint64_t rows_max,
                   RestForm& form) {
  const auto request = headrace::RestRequest::parse(body);
  if (!request) return {};
  form = request->form();
  const auto bound = request->bind(signature);
  if (!bound) return {};
  if ((*bound)->rows() == 0) std::abort();
  const auto answers = headrace::run_request(**bound, rows_max);
  if (!answers) return {};
  const auto out = headrace::rest_answer(*answers, signature, form);
  if (!out && out.error().code == headrace::Code::kInternal) std::abort();
  return out ? *out : std::string();
}

}  // namespace

// A path has the name that is read from it. Every text that the strict parser takes is taken. An answer
// that is sent as a request is answered by itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::Script script({reinterpret_cast<const std::byte*>(data), size});
  const ServedSignature signature = headrace::chosen_signature(script.byte());
  const std::uint64_t rows_max = 1 + script.byte() % 8;
  const std::string_view body = headrace::as_text(script.take(size));

  if (const auto route = headrace::parse_rest_route(rows_max % 2 == 0 ? "GET" : "POST", body);
      route && route->model.name.size() > body.size())
    std::abort();
  static_cast<void>(headrace::ExamplesRequest::parse_json(body, 1 << 16));
  if (headrace::parse_json(body) && !JsonDocument::parse(body)) std::abort();

  RestForm form{};
  const std::string first = answer(body, signature, rows_max, form);
  if (first.empty()) return 0;
  if (!JsonDocument::parse(first)) std::abort();
  if (signature.takes_raw_rows()) return 0;
  std::string again = first;
  const std::string_view key = form == RestForm::kRow ? "predictions" : "outputs";
  again.replace(again.find(key), key.size(), form == RestForm::kRow ? "instances" : "inputs");
  if (answer(again, signature, 1 + rows_max % 8, form) != first) std::abort();
  return 0;
}
