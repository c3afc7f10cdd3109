#include "headrace/cli/servers/serve/request_router.h"

#include <algorithm>
#include <functional>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/kserve_v2.h"
#include "headrace/serve/protocol/kserve_v2_request.h"
#include "headrace/serve/protocol/rest_v1.h"
#include "headrace/serve/protocol/rest_v1_request.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kRest = "rest-v1";
constexpr std::string_view kInfer = "kserve-v2";
constexpr std::string_view kHeaderLength = "Inference-Header-Content-Length";
constexpr std::string_view kTimeoutHeader = "X-Request-Timeout-Ms";
constexpr std::int64_t kTimeoutMaxMs = 3'600'000;

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

HttpAnswer text_answer(unsigned status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

RestVersionState rest_state(VersionState state) {
  switch (state) {
    case VersionState::kReady:
      return RestVersionState::kAvailable;
    case VersionState::kDraining:
      return RestVersionState::kUnloading;
    case VersionState::kFailed:
      return RestVersionState::kEnd;
    default:
      return RestVersionState::kLoading;
  }
}

std::string wait_seconds(std::chrono::nanoseconds wait) {
  return concat(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count()));
}

}  // namespace

// One request while it is answered.
struct RequestRouter::Asked {
  ReceivedRequest request;
  Responder responder;
  ServingMetrics& metrics;
  std::string_view protocol;
  std::string model{};  // none: it is not served, and may be any text
  std::shared_ptr<ServedVersion> version{};
  const ServedSignature* signature = nullptr;
  Clock::time_point deadline{};

  void send(HttpAnswer answer) {
    metrics.count(model, protocol, answer.status, Clock::now() - request.head.received());
    std::move(responder).send(std::move(answer));
  }
  void send_error(const Error& error, std::chrono::nanoseconds retry_after = {}) {
    HttpAnswer answer{.status = http_status(error.code),
                      .body = protocol == kInfer ? infer_error_body(error) : rest_error_body(error)};
    if (answer.status == 429 || answer.status == 503)
      answer.headers.emplace_back("Retry-After", wait_seconds(retry_after));
    send(std::move(answer));
  }

  // Calls `next` when the version is there.
  static void find(std::shared_ptr<Asked> asked, const ServedModels& models, const RequestedModel& requested,
                   std::function<void(std::shared_ptr<Asked>)> next) {
    const auto model = models.find(requested.name);
    if (!model) return asked->send_error(model.error());
    asked->model = requested.name;
    std::optional<std::uint64_t> number;
    if (requested.version) number = static_cast<std::uint64_t>(*requested.version);
    const Clock::time_point deadline = asked->deadline;
    (*model)->await(number, requested.label, deadline,
                    [asked = std::move(asked), next = std::move(next)](auto version) {
                      if (!version) return asked->send_error(version.error());
                      asked->version = *std::move(version);
                      next(asked);
                    });
  }
  Status find_signature(std::string_view name) {
    signature = version->model().find(name);
    if (signature != nullptr) return {};
    std::vector<std::string> names;
    for (const ServedSignature& each : version->model().signatures) names.push_back(each.name);
    return Error{Code::kInvalidArgument, concat("the model ", model, " has no signature ",
                                                printable_line(name, 128), "; it has ", join(names, ", "))};
  }

  // Hands the rows to the batcher; `encode` makes the answer to them.
  static void run(std::shared_ptr<Asked> asked, const BoundRequest& bound,
                  std::function<Result<HttpAnswer>(const BatchAnswers&)> encode) {
    const auto index = static_cast<std::size_t>(asked->signature - asked->version->model().signatures.data());
    Batcher& batcher = asked->version->batcher(index);
    auto rows = batcher.reserve(bound.rows(), bound.row(),
                                {.deadline = asked->deadline, .texts_bytes = bound.texts_bytes()});
    if (!rows) return asked->send_error(rows.error(), batcher.expected_wait());
    const Status filled = bound.fill(*rows);
    if (!filled) return asked->send_error(filled.error());
    std::move(*rows).commit(
        [asked = std::move(asked), encode = std::move(encode)](Result<BatchAnswers> answers) {
          if (!answers) return asked->send_error(answers.error());
          auto answer = encode(*answers);
          answer ? asked->send(*std::move(answer)) : asked->send_error(answer.error());
        });
  }
};

RequestRouter::RequestRouter(const ServedModels& models, ServingMetrics& metrics,
                             RequestRouterOptions options)
    : models_(models), metrics_(metrics), options_(std::move(options)) {}

namespace {

// The model that a request names, as far as its head tells.
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
  auto model = named_model(head);
  if (!options_.predict_route.empty() && path_of(head.target()) == options_.predict_route)
    model = models_.first().name();
  const Status allowed = options_.tokens->check(head.header("Authorization"), model);
  if (allowed) return {};
  HttpAnswer refusal = error_answer(http_status(allowed.error().code), allowed.error().message);
  if (allowed.error().code == Code::kUnauthenticated)
    refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"headrace\"");
  return {.refusal = std::move(refusal)};
}

void RequestRouter::answer(ReceivedRequest request, Responder responder) const {
  const std::string_view target = request.head.target();
  const bool is_infer = target.starts_with("/v2");
  auto asked = std::make_shared<Asked>(
      Asked{std::move(request), std::move(responder), metrics_, is_infer ? kInfer : kRest});
  const RequestHead& head = asked->request.head;
  asked->deadline = head.received() + options_.deadline;
  if (const auto wanted = head.header(kTimeoutHeader)) {
    const auto milliseconds = parse_number<std::int64_t>(*wanted);
    if (!milliseconds || *milliseconds < 1 || *milliseconds > kTimeoutMaxMs) {
      return asked->send_error(
          {Code::kInvalidArgument, concat("the header ", kTimeoutHeader,
                                          " must be a number of milliseconds from 1 to ", kTimeoutMaxMs)});
    }
    asked->deadline = head.received() + std::chrono::milliseconds(*milliseconds);
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
  auto route = is_given_route ? Result<RestRoute>(RestRoute{.model = {.name = models_.first().name()}})
                              : parse_rest_route(head.method(), head.target());
  if (!route) return fail(route.error());
  if (const Status known = check_rest_verb(route->verb); !known) return fail(known.error());
  if (route->verb == RestVerb::kStatus) {
    const auto model = models_.find(route->model.name);
    if (!model) return fail(model.error());
    asked->model = route->model.name;
    std::vector<RestVersionStatus> versions;
    for (const VersionStatus& status : (*model)->statuses()) {
      const auto number = static_cast<std::int64_t>(status.number);
      if (!route->model.version || *route->model.version == number)
        versions.push_back({number, rest_state(status.state), status.error});
    }
    if (versions.empty() && route->model.version)
      return fail({Code::kNotFound, concat("the model has no version ", *route->model.version)});
    return asked->send({.body = rest_status_body(versions)});
  }
  const bool is_metadata = route->verb == RestVerb::kMetadata;
  Asked::find(std::move(asked), models_, route->model, is_metadata ? describe_rest : predict_rest);
}

void RequestRouter::describe_rest(std::shared_ptr<Asked> asked) {
  return asked->send(
      {.body = rest_metadata_body(asked->model, static_cast<std::int64_t>(asked->version->number()),
                                  asked->version->model())});
}

void RequestRouter::predict_rest(std::shared_ptr<Asked> asked) {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  auto request = RestRequest::parse(asked->request.body.text(), true);
  if (!request) return fail(request.error());
  if (const Status found = asked->find_signature(request->signature_name()); !found)
    return fail(found.error());
  const auto bound = request->bind(*asked->signature);
  if (!bound) return fail(bound.error());
  const auto encode = [signature = asked->signature,
                       form = request->form()](const BatchAnswers& answers) -> Result<HttpAnswer> {
    HEADRACE_TRY(std::string body, rest_answer(answers, *signature, form));
    return HttpAnswer{.body = std::move(body)};
  };
  Asked::run(std::move(asked), **bound, encode);
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
  if (route->verb == InferVerb::kModel)
    return Asked::find(std::move(asked), models_, route->model,
                       [this](auto found) { describe_infer(*found); });
  Asked::find(std::move(asked), models_, route->model, infer);
}

void RequestRouter::describe_infer(Asked& asked) const {
  std::vector<std::int64_t> versions;
  const auto model = models_.find(asked.model);
  for (const auto& version : (*model)->ready_versions())
    versions.push_back(static_cast<std::int64_t>(version->number()));
  asked.send({.body = infer_model_body(asked.model, versions, asked.version->model())});
}

void RequestRouter::infer(std::shared_ptr<Asked> asked) {
  const auto fail = [&asked](const Error& error) { asked->send_error(error); };
  const RequestHead& head = asked->request.head;
  std::optional<std::uint64_t> header_bytes;
  if (const auto length = head.header(kHeaderLength)) {
    header_bytes = parse_number<std::uint64_t>(*length);
    if (!header_bytes)
      return fail({Code::kInvalidArgument, concat("the header ", kHeaderLength, " is no number")});
  }
  auto request = InferRequest::parse(asked->request.body.text(), header_bytes, true);
  if (!request) return fail(request.error());
  if (const Status known = asked->find_signature(request->signature_name()); !known)
    return fail(known.error());
  const auto bound = request->bind(*asked->signature);
  if (!bound) return fail(bound.error());
  const auto encode = [signature = asked->signature, request = *request, model = asked->model,
                       number = static_cast<std::int64_t>(asked->version->number())](
                          const BatchAnswers& answers) -> Result<HttpAnswer> {
    HEADRACE_TRY(InferAnswer answer, infer_answer(answers, *signature, request, model, number));
    HttpAnswer out{.body = std::move(answer.body)};
    if (answer.header_bytes) {
      out.content_type = "application/octet-stream";
      out.headers.emplace_back(kHeaderLength, concat(*answer.header_bytes));
    }
    return out;
  };
  Asked::run(std::move(asked), **bound, encode);
}

namespace {

Json models_json(const ServedModels& models) {
  Json out = Json::object();
  for (const auto& [name, model] : models.all()) {
    Json versions = Json::array();
    for (const VersionStatus& status : model->statuses()) {
      Json version = {{"number", status.number}, {"state", version_state_name(status.state)}};
      if (status.error) version["error"] = status.error->message;
      versions.push_back(std::move(version));
    }
    out[name] = {{"versions", std::move(versions)}, {"labels", model->labels()}};
  }
  return out;
}

}  // namespace

void RequestRouter::answer_admin(const ReceivedRequest& request, Responder responder,
                                 const HttpServerCounts& http) const {
  const std::string_view path = path_of(request.head.target());
  HttpAnswer answer = error_answer(404, "there are /livez, /readyz, /startupz, /metrics and /models");
  if (path == "/livez") answer = text_answer(200, "alive\n");
  if (path == "/readyz" || path == "/startupz")
    answer = text_answer(is_ready() ? 200 : 503, is_ready() ? "ready\n" : "not ready\n");
  if (path == "/metrics" || path == "/monitoring/prometheus/metrics") {
    answer = text_answer(200, metrics_.text(models_, http));
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  }
  if (path == "/models") answer = {.body = models_json(models_).dump() + "\n"};
  std::move(responder).send(std::move(answer));
}

}  // namespace headrace
