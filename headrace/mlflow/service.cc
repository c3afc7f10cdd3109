#include "headrace/mlflow/service.h"

#include <map>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/metrics/recover.h"
#include "headrace/mlflow/artifacts.h"
#include "headrace/mlflow/registered_models.h"
#include "headrace/mlflow/runs.h"
#include "headrace/net/url_encoding.h"

namespace headrace::mlflow {
namespace {

// MLflow's client compares this with the versions that introduced its newer calls.
constexpr std::string_view kMlflowVersion = "3.17.2";
constexpr std::string_view kArtifactsPath = "mlflow-artifacts/artifacts";
constexpr std::string_view kMultipartPath = "mlflow-artifacts/mpu/";
// These words tell MLflow's client to send the file in one request.
constexpr std::string_view kNoMultipart =
    "Multipart upload is not supported for the current artifact repository";
constexpr std::string_view kLogBatchPath = "mlflow/runs/log-batch";
constexpr std::string_view kLogMetricPath = "mlflow/runs/log-metric";
constexpr int kBackgroundThreads = 4;
constexpr std::string_view kHint =
    "Headrace keeps MLflow's experiments, runs, artifacts, logged models and registered models, nothing "
    "else. "
    "Keep traces, prompts, webhooks and so on with an MLflow server. See docs/how-to/mlflow.md";

struct Target {
  std::string_view path;  // after /api/2.0/, /ajax-api/3.0/ and so on; for other paths, the whole path
  std::string_view query;
  bool is_api = false;
};

Target split_target(std::string_view target) {
  Target out;
  const std::size_t mark = target.find('?');
  out.path = target.substr(0, mark);
  if (mark != target.npos) out.query = target.substr(mark + 1);
  for (const std::string_view prefix : {"/api/2.0/", "/ajax-api/2.0/", "/api/3.0/", "/ajax-api/3.0/"}) {
    if (!out.path.starts_with(prefix)) continue;
    out.path.remove_prefix(prefix.size());
    out.is_api = true;
    break;
  }
  return out;
}

struct CodeOfMlflow {
  std::string_view name;
  unsigned status;
};

CodeOfMlflow code_of_mlflow(Code code) {
  switch (code) {
    case Code::kNotFound:
      return {"RESOURCE_DOES_NOT_EXIST", 404};
    case Code::kAlreadyExists:
      return {"RESOURCE_ALREADY_EXISTS", 400};
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return {"INVALID_PARAMETER_VALUE", 400};
    case Code::kPermissionDenied:
      return {"PERMISSION_DENIED", 403};
    case Code::kUnauthenticated:
      return {"UNAUTHENTICATED", 401};
    case Code::kResourceExhausted:
      return {"RESOURCE_EXHAUSTED", 429};
    case Code::kUnavailable:
    case Code::kCancelled:
    case Code::kDeadlineExceeded:
      return {"TEMPORARILY_UNAVAILABLE", 503};
    case Code::kFailedPrecondition:
      return {"INVALID_STATE", 400};  // with 500, clients would retry for minutes
    case Code::kAborted:
      return {"ABORTED", 409};
    case Code::kUnimplemented:
      return {"NOT_IMPLEMENTED", 501};
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      break;
  }
  return {"INTERNAL_ERROR", 500};
}

ApiAnswer text_answer(std::string_view text) {
  return {.content_type = "text/plain; charset=utf-8", .body = std::string(text)};
}

Error not_implemented(std::string_view method, std::string_view path) {
  return {Code::kUnimplemented, concat(method, " ", printable_line(path, 200), ": ", kHint)};
}

bool is_logging(std::string_view method, const Target& target) {
  return method == "POST" && (target.path == kLogBatchPath || target.path == kLogMetricPath);
}

Result<RequestFields> fields_of(const ApiRequest& request, const Target& target) {
  const bool has_body = request.method != "GET" && !request.body.empty();
  return has_body ? RequestFields::parse_body(request.body) : RequestFields::parse_query(target.query);
}

// REQUIRES: is_logging(request.method, target)
Status with_batch(const ApiRequest& request, const Target& target,
                  const std::function<Status(const LogBatch&)>& use) {
  if (target.path == kLogBatchPath) return read_log_batch(request.body, use);
  HEADRACE_TRY(const RequestFields fields, fields_of(request, target));
  return read_log_metric(fields, use);
}

bool is_artifact_path(std::string_view path) {
  return path.starts_with(kArtifactsPath) &&
         (path.size() == kArtifactsPath.size() || path[kArtifactsPath.size()] == '/');
}

}  // namespace

ApiAnswer error_answer(const Error& error) {
  const CodeOfMlflow code = code_of_mlflow(error.code);
  return {.status = code.status,
          .body = Json({{"error_code", code.name}, {"message", error.message}}).dump()};
}

RequestKind kind_of(std::string_view method, std::string_view given) {
  const Target target = split_target(given);
  if (!target.is_api) return RequestKind::kImmediate;
  if (is_logging(method, target)) return RequestKind::kLogging;
  if (is_artifact_path(target.path) && target.path.size() > kArtifactsPath.size() + 1)
    return RequestKind::kArtifact;
  return RequestKind::kOther;
}

bool has_large_answer(std::string_view method, std::string_view given) {
  if (kind_of(method, given) == RequestKind::kArtifact) return method == "GET";
  const Target target = split_target(given);
  return target.is_api && (target.path == "mlflow/metrics/get-history" || target.path.ends_with("/search"));
}

struct TrackingService::State {
  using Call = std::function<Result<std::string>(const RequestFields&, const CallOptions&)>;

  explicit State(TrackingServiceOptions given)
      : options(std::move(given)),
        parts{.stores = *options.stores,
              .root_url = options.root_url,
              .journals = options.journals,
              .command_line = options.command_line,
              .version = options.version,
              .now = options.now,
              .background = background},
        experiments(options.root, clock()),
        models(options.root, experiments, clock(), options.remark),
        registry(options.root, models, "", clock(), options.remark),
        runs(options.root, parts, experiments, models, clock(), options.remark, options.cache),
        artifacts(options.root.at(concat(kStatesFolder, "/artifacts"))) {
    add_calls();
    add_logging_calls();
  }

  ClockMs clock() const {
    return [now = options.now] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch()).count();
    };
  }

  template <typename Object>
  void add(std::string_view route, Object& object,
           Result<Json> (Object::*call)(const RequestFields&, const CallOptions&)) {
    calls[std::string(route)] = [&object, call](const RequestFields& fields,
                                                const CallOptions& with) -> Result<std::string> {
      HEADRACE_TRY(const Json answer, (object.*call)(fields, with));
      return answer.dump();
    };
  }

  void add_calls();
  void add_logging_calls();
  Result<ApiAnswer> answer(const ApiRequest& request, const CallOptions& call);
  Result<ApiAnswer> answer_artifact(const ApiRequest& request, const Target& target, const CallOptions& call);
  Result<std::string> answer_api(const ApiRequest& request, const Target& target, const CallOptions& call);

  const TrackingServiceOptions options;
  Background background{kBackgroundThreads};
  const PartSurroundings parts;
  Experiments experiments;
  LoggedModels models;
  RegisteredModels registry;
  Runs runs;
  Artifacts artifacts;
  std::map<std::string, Call, std::less<>> calls;  // "POST mlflow/runs/create"
};

void TrackingService::State::add_calls() {
  add("POST mlflow/experiments/create", experiments, &Experiments::create);
  add("GET mlflow/experiments/get", experiments, &Experiments::get);
  add("GET mlflow/experiments/get-by-name", experiments, &Experiments::get_by_name);
  add("POST mlflow/experiments/update", experiments, &Experiments::rename);
  add("POST mlflow/experiments/delete", experiments, &Experiments::remove);
  add("POST mlflow/experiments/restore", experiments, &Experiments::restore);
  add("POST mlflow/experiments/search", experiments, &Experiments::search);
  add("GET mlflow/experiments/search", experiments, &Experiments::search);
  add("POST mlflow/experiments/set-experiment-tag", experiments, &Experiments::set_tag);
  add("POST mlflow/experiments/delete-experiment-tag", experiments, &Experiments::delete_tag);
  add("POST mlflow/runs/create", runs, &Runs::create);
  add("GET mlflow/runs/get", runs, &Runs::get);
  add("POST mlflow/runs/update", runs, &Runs::update);
  add("POST mlflow/runs/delete", runs, &Runs::remove);
  add("POST mlflow/runs/restore", runs, &Runs::restore);
  add("POST mlflow/runs/search", runs, &Runs::search);
  add("GET mlflow/artifacts/list", runs, &Runs::list_artifacts);
  // MODEL and TAG stand for the parts of a path.
  add("POST mlflow/logged-models", models, &LoggedModels::create);
  add("POST mlflow/logged-models/search", models, &LoggedModels::search);
  add("GET mlflow/logged-models/MODEL", models, &LoggedModels::get);
  add("PATCH mlflow/logged-models/MODEL", models, &LoggedModels::finalize);
  add("DELETE mlflow/logged-models/MODEL", models, &LoggedModels::remove);
  add("PATCH mlflow/logged-models/MODEL/tags", models, &LoggedModels::set_tags);
  add("DELETE mlflow/logged-models/MODEL/tags/TAG", models, &LoggedModels::delete_tag);
  add("POST mlflow/logged-models/MODEL/params", models, &LoggedModels::log_params);
  for (const auto& [route, call] : RegisteredModels::calls()) add(route, registry, call);
}

void TrackingService::State::add_logging_calls() {
  add("POST mlflow/runs/log-parameter", runs, &Runs::log_param);
  add("POST mlflow/runs/set-tag", runs, &Runs::set_tag);
  add("POST mlflow/runs/delete-tag", runs, &Runs::delete_tag);
  add("POST mlflow/runs/log-inputs", runs, &Runs::log_inputs);
  add("POST mlflow/runs/outputs", runs, &Runs::log_outputs);
  add("POST mlflow/runs/log-model", runs, &Runs::log_model);
  calls["GET mlflow/metrics/get-history"] = [this](const RequestFields& fields, const CallOptions& call) {
    return runs.metric_history(fields, call);
  };
  calls["GET mlflow/server-info"] = [](const RequestFields&, const CallOptions&) {
    return Result<std::string>(Json({{"store_type", "Headrace"},
                                     {"workspaces_enabled", false},
                                     {"multipart_uploads_enabled", false},
                                     {"multipart_downloads_enabled", false}})
                                   .dump());
  };
}

namespace {

// The route of a path. Ids of models and tags in the path become fields.
Result<std::string> route_of(std::string_view path, RequestFields& fields) {
  constexpr std::string_view kModels = "mlflow/logged-models/";
  if (!path.starts_with(kModels) || path == "mlflow/logged-models/search") return std::string(path);
  std::vector<std::string> parts = split(path.substr(kModels.size()), '/');
  const auto model = percent_decode(parts[0]);
  if (!model) return Error{Code::kInvalidArgument, "the path is not percent-encoded"};
  fields.set("model_id", *model);
  parts[0] = "MODEL";
  if (parts.size() > 2 && parts[1] == "tags") {
    std::string tag;  // its name may have slashes
    for (std::size_t i = 2; i < parts.size(); ++i) tag += concat(i > 2 ? "/" : "", parts[i]);
    const auto decoded = percent_decode(tag);
    if (!decoded || !is_valid_utf8(*decoded))
      return Error{Code::kInvalidArgument, "the path is not percent-encoded UTF-8"};
    fields.set("tag_key", *decoded);
    parts = {"MODEL", "tags", "TAG"};
  }
  return concat(kModels, join(parts, "/"));
}

}  // namespace

Result<std::string> TrackingService::State::answer_api(const ApiRequest& request, const Target& target,
                                                       const CallOptions& call) {
  if (is_logging(request.method, target)) {
    HEADRACE_CHECK(
        with_batch(request, target, [&](const LogBatch& batch) { return runs.log_batch(batch, call); }));
    return std::string("{}");
  }
  HEADRACE_TRY(RequestFields fields, fields_of(request, target));
  HEADRACE_TRY(const std::string route, route_of(target.path, fields));
  const auto found = calls.find(concat(request.method, " ", route));
  if (found == calls.end()) return not_implemented(request.method, target.path);
  return found->second(fields, call);
}

Result<ApiAnswer> TrackingService::State::answer_artifact(const ApiRequest& request, const Target& target,
                                                          const CallOptions& call) {
  const auto path = percent_decode(target.path.substr(kArtifactsPath.size()));
  if (!path) return Error{Code::kInvalidArgument, "the path is not percent-encoded"};
  const bool is_listing = *path == "" || *path == "/";
  if (is_listing && request.method == "GET") {
    HEADRACE_TRY(const RequestFields fields, RequestFields::parse_query(target.query));
    HEADRACE_TRY(const std::string folder, fields.text("path"));
    HEADRACE_TRY(const Json files, artifacts.list(folder, call));
    return ApiAnswer{.body = files.dump()};
  }
  if (request.method == "GET") {
    auto opened = artifacts.open(*path, request.range, call);
    if (!opened && opened.error().code == Code::kOutOfRange) {
      ApiAnswer refusal = error_answer(opened.error());
      refusal.status = 416;
      return refusal;
    }
    HEADRACE_TRY(OpenArtifact artifact, std::move(opened));
    const bool is_part = artifact.size_bytes < artifact.whole_bytes;
    return ApiAnswer{.status = is_part ? 206U : 200U,
                     .content_type = "application/octet-stream",
                     .artifact = std::move(artifact)};
  }
  if (request.method == "PUT") {
    std::string_view rest = request.body;
    const NextPiece whole = [&rest] { return Result<BytesView>(as_bytes(std::exchange(rest, {}))); };
    HEADRACE_CHECK(artifacts.write(*path, request.next_piece ? request.next_piece : whole, call));
    return ApiAnswer{.body = "{}"};
  }
  if (request.method != "DELETE") return not_implemented(request.method, target.path);
  HEADRACE_CHECK(artifacts.remove(*path, call));
  return ApiAnswer{.body = "{}"};
}

Result<ApiAnswer> TrackingService::State::answer(const ApiRequest& request, const CallOptions& call) {
  const Target target = split_target(request.target);
  if (!target.is_api) {
    if (request.method == "GET" && target.path == "/health") return text_answer("OK");
    if (request.method == "GET" && target.path == "/version") return text_answer(kMlflowVersion);
    return not_implemented(request.method, target.path);
  }
  if (is_artifact_path(target.path)) return answer_artifact(request, target, call);
  if (target.path.starts_with(kMultipartPath)) return Error{Code::kUnimplemented, std::string(kNoMultipart)};
  HEADRACE_TRY(std::string body, answer_api(request, target, call));
  return ApiAnswer{.body = std::move(body)};
}

TrackingService::TrackingService(TrackingServiceOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
TrackingService::~TrackingService() = default;

std::vector<std::string> TrackingService::recover(const CallOptions& call) {
  std::vector<std::string> remarks;
  const auto open = [this](const std::string& url) { return state_->options.stores->open(url); };
  for (const RecoveredLog& log : recover_metrics(state_->options.journals, open, call)) {
    remarks.push_back(log.status
                          ? concat("recovered ", log.points, " points of ", log.url)
                          : concat("the journal ", log.folder, " is kept: ", log.status.error().message));
  }
  return remarks;
}

namespace {

// Returns the result of `answer`. If a malformed state makes it throw, returns an error.
template <typename Answer>
Answer without_exceptions(const std::function<Result<Answer>()>& answer) {
  try {
    auto answered = answer();
    return answered ? *std::move(answered) : Answer(error_answer(answered.error()));
  } catch (const JsonError& malformed) {
    return error_answer({Code::kDataLoss, concat("a state in the store is malformed: ", malformed.what())});
  }
}

}  // namespace

ApiAnswer TrackingService::answer(const ApiRequest& request, const CallOptions& call) {
  return without_exceptions<ApiAnswer>([&] { return state_->answer(request, call); });
}

std::optional<ApiAnswer> TrackingService::answer_at_once(const ApiRequest& request) {
  using Answer = std::optional<ApiAnswer>;
  return without_exceptions<Answer>([&]() -> Result<Answer> {
    bool is_logged = false;
    const auto log = [&](const LogBatch& batch) -> Status {
      HEADRACE_TRY(is_logged, state_->runs.log_immediately(batch));
      return {};
    };
    HEADRACE_CHECK(with_batch(request, split_target(request.target), log));
    return is_logged ? Answer(ApiAnswer{.body = "{}"}) : std::nullopt;
  });
}

std::vector<std::string> TrackingService::close() { return state_->runs.end_parts(); }

}  // namespace headrace::mlflow
