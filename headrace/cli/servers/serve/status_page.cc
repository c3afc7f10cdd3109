#include "headrace/cli/servers/serve/status_page.h"

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/example_request.h"
#include "headrace/cli/servers/serve/status_page_parts.h"
#include "headrace/page/page_style.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/protocol/rest_v1.h"

namespace headrace {
namespace {

// A form with more values is too long to be edited.
constexpr std::uint64_t kPrefilledElements = 1024;

std::string source_of(std::string_view text) {
  return concat("'sha256-", base64(sha256(as_bytes(text))), "'");
}

struct Document {
  std::string text;
  std::string policy;
};

// The style and the script are part of the document, and the policy allows no others.
Document make_document() {
  const std::string style = concat(kPageStyle, kStatusPageStyle);
  return {.text = concat(kStatusPageHead, "<style>", style, "</style>\n", kStatusPageBody, "<script>",
                         kStatusPageScript, "</script>\n</html>\n"),
          .policy = concat("default-src 'none'; style-src ", source_of(style), "; script-src ",
                           source_of(kStatusPageScript),
                           "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                           "frame-ancestors 'none'")};
}

void add_safety_headers(HttpAnswer& answer) {
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cache-Control", "no-store");
}

HttpAnswer document_answer() {
  static const Document document = make_document();
  HttpAnswer answer{.content_type = "text/html; charset=utf-8", .body = document.text};
  answer.headers.emplace_back("Content-Security-Policy", document.policy);
  return answer;
}

Json batches_of(const ServedVersion& version) {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t waiting = 0;
  for (const Batcher::Counts& counts : version.counts()) {
    batches += counts.batches;
    rows += counts.rows;
    waiting += counts.waiting_rows;
  }
  return {{"batches", batches}, {"rows", rows}, {"waiting_rows", waiting}};
}

// The reason of a failure is for operators only, because it may name places.
Json model_state(const LiveModel& model, const ModelTraffic& traffic) {
  Json versions = Json::array();
  for (const VersionStatus& status : model.statuses())
    versions.push_back({{"number", status.number}, {"state", version_state_name(status.state)}});
  Json batches = Json::object();
  for (const auto& version : model.ready_versions())
    batches[concat(version->number())] = batches_of(*version);
  Json statuses = Json::object();
  for (const auto& [status, count] : traffic.statuses) statuses[concat(status)] = count;
  Json latencies = Json::array();
  for (const std::uint64_t count : traffic.latencies) latencies.push_back(count);
  return {{"name", model.name()},
          {"versions", std::move(versions)},
          {"labels", model.labels()},
          {"batches", std::move(batches)},
          {"statuses", std::move(statuses)},
          {"latencies", std::move(latencies)}};
}

Json tensors_json(const std::vector<ServedTensor>& tensors) {
  Json out = Json::array();
  for (const ServedTensor& tensor : tensors)
    out.push_back(
        {{"name", tensor.name}, {"type", data_type_name(tensor.type)}, {"shape", tensor.shape.text()}});
  return out;
}

std::string_view verb_of(const ServedSignature& signature) {
  if (check_examples_signature(signature, ExamplesMethod::kClassify)) return "classify";
  return check_examples_signature(signature, ExamplesMethod::kRegress) ? "regress" : "predict";
}

Json signature_json(const ServedSignature& signature) {
  Json columns = Json::array();
  for (const ServedColumn& column : signature.columns)
    columns.push_back(
        {{"name", column.name}, {"is_image", column.is_image}, {"is_needed", column.is_needed}});
  Json out = {{"name", signature.name},
              {"verb", verb_of(signature)},
              {"columns", std::move(columns)},
              {"inputs", tensors_json(signature.inputs)},
              {"outputs", tensors_json(signature.outputs)}};
  if (auto inputs = example_inputs(signature, kPrefilledElements)) out["example"] = *std::move(inputs);
  return out;
}

}  // namespace

HttpAnswer StatusPage::answer(std::string_view method, std::string_view path,
                              std::optional<std::string_view> authorization) const {
  HttpAnswer answer;
  if (method != "GET" && method != "HEAD") {
    answer = error_answer(405, "the page is read with GET");
    answer.headers.emplace_back("Allow", "GET, HEAD");
  } else if (is_document(path)) {
    answer = document_answer();
  } else if (path == "/page/state") {
    answer.body = state(authorization);
  } else if (auto found = signatures(path, authorization)) {
    answer.body = *std::move(found);
  } else {
    answer = {.status = http_status(found.error().code), .body = rest_error_body(found.error())};
  }
  add_safety_headers(answer);
  return answer;
}

std::string StatusPage::state(std::optional<std::string_view> authorization) const {
  const std::map<std::string, ModelTraffic> traffic = metrics_.traffic();
  Json models = Json::array();
  for (const auto& [name, model] : models_.all()) {
    if (tokens_ != nullptr && !tokens_->check(authorization, name)) continue;
    const auto found = traffic.find(name);
    models.push_back(model_state(*model, found != traffic.end() ? found->second : ModelTraffic{}));
  }
  Json ends = Json::array();
  for (const double end : ServingMetrics::latency_ends_s()) ends.push_back(end);
  return Json{{"models", std::move(models)}, {"latency_ends_s", std::move(ends)}}.dump();
}

Result<std::string> StatusPage::signatures(std::string_view path,
                                           std::optional<std::string_view> authorization) const {
  const auto parts = split_path(path);
  const bool is_known = parts && parts->size() == 4 && (*parts)[1] == "signatures";
  if (!is_known) return Error{Code::kNotFound, "the paths here are / and /page/state"};
  RequestedModel requested{.name = decode_percent((*parts)[2])};
  if (tokens_ != nullptr) HEADRACE_CHECK(tokens_->check(authorization, requested.name));
  if (!is_version_number((*parts)[3])) return Error{Code::kInvalidArgument, "the version is not a number"};
  HEADRACE_TRY(requested.version, parse_version((*parts)[3]));
  HEADRACE_TRY(const std::shared_ptr<ServedVersion> version, models_.find_version(requested));
  Json out = Json::array();
  for (const ServedSignature& signature : version->model().signatures)
    out.push_back(signature_json(signature));
  return Json{{"signatures", std::move(out)}}.dump();
}

}  // namespace headrace
