#include "headrace/cli/servers/serve/request_router.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/examples_requests.h"
#include "headrace/cli/servers/serve/model_request.h"
#include "headrace/cli/servers/serve/models_status.h"
#include "headrace/serve/protocol/examples_answer.h"
#include "headrace/serve/protocol/kserve_v2.h"
#include "headrace/serve/protocol/kserve_v2_request.h"
#include "headrace/serve/protocol/rest_v1.h"
#include "headrace/serve/protocol/rest_v1_request.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kRest = "rest-v1";
constexpr std::string_view kInfer = "kserve-v2";
constexpr std::size_t kQuickBytes = 64 << 10;
constexpr std::string_view kHeaderLength = "Inference-Header-Content-Length";
constexpr std::string_view kTimeoutHeader = "X-Request-Timeout-Ms";
constexpr std::int64_t kTimeoutMaxMs = 3'600'000;

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

HttpAnswer text_answer(unsigned status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

AnswerEncoding encoding_of(const InferAnswerForm& form) {
  const bool is_binary = form.outputs.empty()
                             ? form.is_binary_by_default
                             : std::ranges::all_of(form.outputs, &RequestedOutput::is_binary);
  return is_binary ? AnswerEncoding::kBinary : AnswerEncoding::kJson;
}

std::string wait_seconds(std::chrono::nanoseconds wait) {
  return concat(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count()));
}

}  // namespace

// One request while it is answered.
struct RequestRouter::Asked final : ModelRequest {
  ReceivedRequest request;
  Responder responder;
  std::optional<std::chrono::milliseconds> given_time{};  // set by the client
  bool is_vertex = false;

  Asked(ReceivedRequest received_request, Responder its_responder, ServingMetrics& its_metrics,
        std::string_view its_protocol)
      : ModelRequest(its_metrics, its_protocol, received_request.head.received()),
        request(std::move(received_request)),
        responder(std::move(its_responder)) {}

  std::optional<std::string_view> header(std::string_view name) const override {
    return request.head.header(name);
  }
  std::uint64_t body_bytes() const override { return request.body.size(); }
  Clock::time_point deadline_within(std::chrono::milliseconds most) const override {
    return received() + given_time.value_or(most);
  }

  void send(HttpAnswer answer) {
    if (trace() != nullptr) answer.headers.emplace_back("traceparent", trace()->traceparent());
    count(answer.status);
    std::move(responder).send(std::move(answer));
  }
  Status reserve_answer(std::uint64_t bytes) override { return responder.reserve_answer(bytes); }
  void resume(std::function<void()> work) override { responder.resume(std::move(work)); }
  void send_error(const Error& error, std::chrono::nanoseconds retry_after = {}) override {
    HttpAnswer answer{.status = http_status(error.code), .body = error_body(error)};
    if (answer.status == 429 || answer.status == 503)
      answer.headers.emplace_back("Retry-After", wait_seconds(retry_after));
    send(std::move(answer));
  }

 private:
  std::string error_body(const Error& error) const {
    if (protocol() == kInfer) return infer_error_body(error);
    return is_vertex ? vertex_error_body(error) : rest_error_body(error);
  }
};

RequestRouter::RequestRouter(const ServedModels& models, ServingMetrics& metrics,
                             RequestRouterOptions options)
    : models_(models),
      metrics_(metrics),
      options_(std::move(options)),
      page_(models, metrics, options_.tokens) {}

namespace {

// The model that a request names, as far as its head shows.
std::optional<std::string> named_model(const RequestHead& head) {
  if (const auto route = parse_infer_route(head.method(), head.target()); route && !route->model.name.empty())
    return route->model.name;
  if (const auto route = parse_rest_route(head.method(), head.target())) return route->model.name;
  return std::nullopt;
}

bool is_probe(const RequestHead& head, const std::string& health_route) {
  const std::string_view path = path_of(head.target());
  if (!health_route.empty() && path == health_route) return true;
  const auto route = parse_infer_route(head.method(), path);
  return route && (route->verb == InferVerb::kServerLive || route->verb == InferVerb::kServerReady);
}

}  // namespace

HeadVerdict RequestRouter::judge(const RequestHead& head) const {
  if (options_.tokens == nullptr || is_probe(head, options_.health_route)) return {};
  if (options_.has_page && StatusPage::is_document(path_of(head.target()))) return {};
  auto model = named_model(head);
  if (!options_.predict_route.empty() && path_of(head.target()) == options_.predict_route)
    model = models_.first_name();
  const Status allowed = options_.tokens->check(head.header("Authorization"), model);
  if (allowed) return {};
  HttpAnswer refusal = error_answer(http_status(allowed.error().code), allowed.error().message);
  if (allowed.error().code == Code::kUnauthenticated)
    refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"headrace\"");
  return {.refusal = std::move(refusal)};
}

void RequestRouter::end_round() { CommitRound::send_committed(); }

void RequestRouter::answer(ReceivedRequest request, Responder responder) const {
  // Other requests do not wait while a large body is parsed.
  if (request.body.size() > kQuickBytes) end_round();
  const CommitRound round;
  const std::string_view target = request.head.target();
  if (options_.has_page && StatusPage::has(path_of(target))) {
    const RequestHead& head = request.head;
    return std::move(responder).send(
        page_.answer(head.method(), path_of(target), head.header("Authorization")));
  }
  const bool is_infer = target.starts_with("/v2");
  auto asked =
      std::make_shared<Asked>(std::move(request), std::move(responder), metrics_, is_infer ? kInfer : kRest);
  const RequestHead& head = asked->request.head;
  if (options_.tracer != nullptr) {
    asked->set_trace(options_.tracer->begin(head.header("traceparent"), head.received()));
    if (asked->trace() != nullptr) asked->trace()->mark("read");
  }
  if (const auto wanted = head.header(kTimeoutHeader)) {
    const auto milliseconds = parse_number<std::int64_t>(*wanted);
    if (!milliseconds || *milliseconds < 1 || *milliseconds > kTimeoutMaxMs) {
      return asked->send_error(
          {Code::kInvalidArgument, concat("the header ", kTimeoutHeader,
                                          " must be a number of milliseconds from 1 to ", kTimeoutMaxMs)});
    }
    asked->given_time = std::chrono::milliseconds(*milliseconds);
  }
  if (is_infer) return answer_infer(std::move(asked));
  const std::string_view path = path_of(head.target());
  if (!options_.health_route.empty() && path == options_.health_route)
    return asked->send(text_answer(is_ready() ? 200 : 503, is_ready() ? "ready\n" : "not ready\n"));
  answer_rest(std::move(asked));
}

void RequestRouter::answer_rest(std::shared_ptr<Asked> asked) const {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  const RequestHead& head = asked->request.head;
  const bool is_given_route =
      !options_.predict_route.empty() && path_of(head.target()) == options_.predict_route;
  auto route = is_given_route ? Result<RestRoute>(RestRoute{.model = {.name = models_.first_name()}})
                              : parse_rest_route(head.method(), head.target());
  if (!route) return fail(route.error());
  asked->is_vertex = route->is_vertex;
  if (route->verb == RestVerb::kStatus) {
    const auto versions = version_statuses(models_, route->model);
    if (auto entry = models_.find(route->model.name)) asked->set_model(route->model.name, *std::move(entry));
    return versions ? asked->send({.body = rest_status_body(*versions)}) : fail(versions.error());
  }
  const bool is_metadata = route->verb == RestVerb::kMetadata;
  find_version(asked, models_, route->model, is_metadata ? RequestPurpose::kDescribe : RequestPurpose::kInfer,
               [asked, verb = route->verb, repeated_bytes_max = options_.repeated_bytes_max] {
                 if (verb == RestVerb::kMetadata) return describe_rest(asked);
                 if (verb == RestVerb::kPredict) return predict_rest(asked);
                 const bool is_classify = verb == RestVerb::kClassify;
                 ask_by_examples(asked, is_classify ? ExamplesMethod::kClassify : ExamplesMethod::kRegress,
                                 repeated_bytes_max);
               });
}

void RequestRouter::describe_rest(const std::shared_ptr<Asked>& asked) {
  asked->send(
      {.body = rest_metadata_body(asked->model(), asked->version_number(), asked->version()->model())});
}

void RequestRouter::predict_rest(const std::shared_ptr<Asked>& asked) {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  auto request = RestRequest::parse(asked->request.body.text(), true);
  if (!request) return fail(request.error());
  const auto bind = [request = *request](const ServedSignature& signature) {
    return request.bind(signature);
  };
  run_rows(asked, request->signature_name(), bind, AnswerEncoding::kJson,
           [asked, form = request->form()](const BatchAnswers& answers) -> Status {
             HEADRACE_TRY(std::string body, rest_answer(answers, *asked->signature(), form));
             asked->send({.body = std::move(body)});
             return {};
           });
}

void RequestRouter::ask_by_examples(const std::shared_ptr<Asked>& asked, ExamplesMethod method,
                                    std::uint64_t repeated_bytes_max) {
  asked->set_api(api_name(method));
  const auto examples = ExamplesRequest::parse_json(asked->request.body.text(), repeated_bytes_max, true);
  if (!examples) return asked->send_error(examples.error());
  run_examples(asked, *examples, method, AnswerEncoding::kJson,
               [asked, method](const BatchAnswers& answers) -> Status {
                 HEADRACE_TRY(std::string body, rest_results(answers, *asked->signature(), method));
                 asked->send({.body = std::move(body)});
                 return {};
               });
}

void RequestRouter::answer_infer(std::shared_ptr<Asked> asked) const {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  const RequestHead& head = asked->request.head;
  const auto route = parse_infer_route(head.method(), head.target());
  if (!route) return fail(route.error());
  switch (route->verb) {
    case InferVerb::kServer:
      return asked->send({.body = infer_server_body(HEADRACE_VERSION)});
    case InferVerb::kServerLive:
      return asked->send({.body = infer_live_body(true)});
    case InferVerb::kServerReady:
      return asked->send({.status = is_ready() ? 200U : 503U, .body = infer_ready_body(is_ready())});
    default:
      break;
  }
  if (route->verb == InferVerb::kModelReady) {
    const auto model = models_.find(route->model.name);
    if (!model) return fail(model.error());
    const auto version = models_.find_version(route->model);
    if (!version && version.error().code != Code::kUnavailable) return fail(version.error());
    return asked->send({.status = version ? 200U : 503U,
                        .body = infer_model_ready_body(route->model.name, version.has_value())});
  }
  const bool is_metadata = route->verb == InferVerb::kModel;
  find_version(asked, models_, route->model, is_metadata ? RequestPurpose::kDescribe : RequestPurpose::kInfer,
               [asked, is_metadata] { is_metadata ? describe_infer(*asked) : infer(asked); });
}

void RequestRouter::describe_infer(Asked& asked) {
  const auto versions = ready_numbers(asked.live());
  asked.send({.body = infer_model_body(asked.model(), versions, asked.version()->model())});
}

void RequestRouter::infer(const std::shared_ptr<Asked>& asked) {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  const RequestHead& head = asked->request.head;
  std::optional<std::uint64_t> header_bytes;
  if (const auto length = head.header(kHeaderLength)) {
    header_bytes = parse_number<std::uint64_t>(*length);
    if (!header_bytes)
      return fail({Code::kInvalidArgument, concat("the header ", kHeaderLength, " is not a number")});
  }
  auto request = InferRequest::parse(asked->request.body.text(), header_bytes, true);
  if (!request) return fail(request.error());
  const auto bind = [request = *request](const ServedSignature& signature) {
    return request.bind(signature);
  };
  const InferAnswerForm& form = request->answer_form();
  run_rows(asked, request->signature_name(), bind, encoding_of(form),
           [asked, form](const BatchAnswers& answers) -> Status {
             HEADRACE_TRY(InferAnswer answer, infer_answer(answers, *asked->signature(), form, asked->model(),
                                                           asked->version_number()));
             HttpAnswer out{.body = std::move(answer.body)};
             if (answer.header_bytes) {
               out.content_type = "application/octet-stream";
               out.headers.emplace_back(kHeaderLength, concat(*answer.header_bytes));
             }
             asked->send(std::move(out));
             return {};
           });
}

void RequestRouter::answer_admin(const ReceivedRequest& request, Responder responder,
                                 const HttpServerCounts& http) const {
  const std::string_view path = path_of(request.head.target());
  HttpAnswer answer =
      error_answer(404, "the paths here are /livez, /readyz, /startupz, /metrics and /models");
  if (path == "/livez") answer = text_answer(200, "alive\n");
  if (path == "/readyz" || path == "/startupz")
    answer = text_answer(is_ready() ? 200 : 503, is_ready() ? "ready\n" : "not ready\n");
  if (path == "/metrics" || path == "/monitoring/prometheus/metrics") {
    answer = text_answer(200, metrics_.text(models_, http));
    if (options_.tracer != nullptr) answer.body += options_.tracer->metrics_text();
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  }
  if (path == "/models") answer = {.body = models_json(models_).dump() + "\n"};
  std::move(responder).send(std::move(answer));
}

}  // namespace headrace
