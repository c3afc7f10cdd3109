#include "headrace/cli/servers/serve/grpc_router.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/examples_requests.h"
#include "headrace/cli/servers/serve/model_request.h"
#include "headrace/serve/protocol/examples_answer.h"
#include "headrace/serve/protocol/kserve_v2_grpc.h"
#include "headrace/serve/protocol/rest_v1.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

constexpr std::string_view kGrpcPredict = "grpc-predict";
constexpr std::string_view kGrpcInfer = "kserve-v2-grpc";
constexpr std::string_view kAuthorization = "authorization";

}  // namespace

// One call while it is answered.
struct GrpcRouter::Asked final : ModelRequest {
  std::unique_ptr<GrpcCall> call;

  Asked(std::unique_ptr<GrpcCall> its_call, ServingMetrics& its_metrics)
      : ModelRequest(its_metrics, is_infer_method(its_call->method()) ? kGrpcInfer : kGrpcPredict,
                     its_call->received()),
        call(std::move(its_call)) {}

  Status reserve_answer(std::uint64_t bytes) override { return call->reserve_answer(bytes); }
  std::optional<std::string_view> header(std::string_view name) const override {
    return call->metadata(name);
  }
  std::uint64_t body_bytes() const override { return call->message().size(); }
  Clock::time_point deadline_within(std::chrono::milliseconds most) const override {
    return std::min(call->deadline(), received() + most);
  }

  void send(Bytes answer) {
    count(200);
    call->send(std::move(answer), {});
  }
  void send_error(const Error& error, std::chrono::nanoseconds retry_after = {}) override {
    count(http_status(error.code));
    call->send(error, retry_after);
  }
};

Status GrpcRouter::judge(std::string_view method, std::optional<std::string_view> authorization) const {
  if (options_.tokens == nullptr) return {};
  const auto known = parse_grpc_method(method);
  if (known && (*known == GrpcMethod::kHealthCheck || *known == GrpcMethod::kInferServerLive ||
                *known == GrpcMethod::kInferServerReady))
    return {};
  return options_.tokens->check(authorization, std::nullopt);
}

// A token may be for other models than the model in the message.
Status GrpcRouter::check_model(const Asked& asked, const RequestedModel& requested) const {
  if (options_.tokens == nullptr) return {};
  return options_.tokens->check(asked.call->metadata(kAuthorization), requested.name);
}

void GrpcRouter::answer(std::unique_ptr<GrpcCall> call) const {
  const auto asked = std::make_shared<Asked>(std::move(call), metrics_);
  if (options_.tracer != nullptr) {
    asked->set_trace(options_.tracer->begin(asked->call->metadata("traceparent"), asked->received()));
    if (asked->trace() != nullptr) asked->trace()->mark("read");
  }
  const auto method = parse_grpc_method(asked->call->method());
  if (!method) return asked->send_error(method.error());
  switch (*method) {
    case GrpcMethod::kPredict:
      return predict(asked);
    case GrpcMethod::kClassify:
      return ask_by_examples(asked, ExamplesMethod::kClassify);
    case GrpcMethod::kRegress:
      return ask_by_examples(asked, ExamplesMethod::kRegress);
    case GrpcMethod::kMultiInference:
      return run_multi_inference(asked);
    case GrpcMethod::kInfer:
      return infer(asked);
    case GrpcMethod::kModelMetadata:
    case GrpcMethod::kInferModelMetadata:
      return answer_metadata(asked, *method);
    default:
      break;
  }
  auto answer = describe(*method, *asked);
  answer ? asked->send(*std::move(answer)) : asked->send_error(answer.error());
}

// Answers the methods that need no version.
Result<Bytes> GrpcRouter::describe(GrpcMethod method, Asked& asked) const {
  const BytesView message = asked.call->message();
  switch (method) {
    case GrpcMethod::kModelStatus: {
      HEADRACE_TRY(const RequestedModel requested, parse_status_request(message));
      HEADRACE_CHECK(check_model(asked, requested));
      HEADRACE_TRY(const auto versions, version_statuses(models_, requested));
      HEADRACE_TRY(auto entry, models_.find(requested.name));
      asked.set_model(requested.name, std::move(entry));
      return status_response(versions);
    }
    case GrpcMethod::kInferServerLive:
      return boolean_response(true);
    case GrpcMethod::kInferServerReady:
      return boolean_response(is_ready());
    case GrpcMethod::kInferModelReady: {
      HEADRACE_TRY(const RequestedModel requested, parse_model_request(message));
      HEADRACE_CHECK(check_model(asked, requested));
      HEADRACE_TRY(auto entry, models_.find(requested.name));
      asked.set_model(requested.name, std::move(entry));
      const auto version = models_.find_version(requested);
      if (!version && version.error().code != Code::kUnavailable) return version.error();
      return boolean_response(version.has_value());
    }
    case GrpcMethod::kInferServerMetadata:
      return server_metadata_response(HEADRACE_VERSION);
    default:
      break;
  }
  HEADRACE_TRY(const std::string service, parse_health_request(message));
  return health_of(service);
}

Result<Bytes> GrpcRouter::health_of(std::string_view service) const {
  for (const std::string_view known : {"", "tensorflow.serving.PredictionService",
                                       "tensorflow.serving.ModelService", "inference.GRPCInferenceService"}) {
    if (service == known) return health_response(is_ready());
  }
  HEADRACE_TRY(const auto entry, models_.find(service));
  return health_response(!is_draining_ && can_answer(*entry));
}

void GrpcRouter::answer_metadata(std::shared_ptr<Asked> asked, GrpcMethod method) const {
  const bool is_infer = method == GrpcMethod::kInferModelMetadata;
  const auto requested =
      is_infer ? parse_model_request(asked->call->message()) : parse_metadata_request(asked->call->message());
  if (!requested) return asked->send_error(requested.error());
  if (const Status allowed = check_model(*asked, *requested); !allowed)
    return asked->send_error(allowed.error());
  find_version(asked, models_, *requested, RequestPurpose::kDescribe, [asked, is_infer] {
    const ServedModel& served = asked->version()->model();
    asked->send(is_infer ? model_metadata_response(asked->model(), ready_numbers(asked->live()), served)
                         : metadata_response(asked->model(), asked->version_number(), served));
  });
}

namespace {

// Binds a parsed request to the version that was found, and runs it. `encode` is predict_response or
// infer_response.
template <typename Asked, typename Request, typename Encode>
void run_call(const std::shared_ptr<Asked>& asked, const Request& request, Encode encode) {
  const auto bind = [request](const ServedSignature& signature) { return request.bind(signature); };
  run_rows(asked, request.signature_name(), bind, AnswerEncoding::kBinary,
           [asked, request, encode](const BatchAnswers& answers) -> Status {
             HEADRACE_TRY(Bytes answer, encode(answers, *asked->signature(), request, asked->model(),
                                               asked->version_number()));
             asked->send(std::move(answer));
             return {};
           });
}

}  // namespace

void GrpcRouter::predict(std::shared_ptr<Asked> asked) const {
  auto request = PredictRequest::parse(asked->call->message(), options_.repeated_bytes_max);
  if (!request) return asked->send_error(request.error());
  const RequestedModel requested = request->model();
  if (const Status allowed = check_model(*asked, requested); !allowed)
    return asked->send_error(allowed.error());
  find_version(asked, models_, requested, RequestPurpose::kInfer,
               [asked, request = *std::move(request)] { run_call(asked, request, predict_response); });
}

void GrpcRouter::ask_by_examples(std::shared_ptr<Asked> asked, ExamplesMethod method) const {
  asked->set_api(api_name(method));
  auto examples = ExamplesRequest::parse_message(asked->call->message(), options_.repeated_bytes_max);
  if (!examples) return asked->send_error(examples.error());
  const RequestedModel requested = examples->model();
  if (const Status allowed = check_model(*asked, requested); !allowed)
    return asked->send_error(allowed.error());
  find_version(asked, models_, requested, RequestPurpose::kInfer,
               [asked, examples = *std::move(examples), method] {
                 run_examples(asked, examples, method, AnswerEncoding::kBinary,
                              [asked, method](const BatchAnswers& answers) -> Status {
                                HEADRACE_TRY(const Bytes results,
                                             results_message(answers, *asked->signature(), method));
                                asked->send(results_response(results, asked->model(), asked->version_number(),
                                                             asked->signature()->name));
                                return {};
                              });
               });
}

void GrpcRouter::run_multi_inference(std::shared_ptr<Asked> asked) const {
  asked->set_api("multi_inference");
  auto tasks = MultiInferenceRequest::parse(asked->call->message(), options_.repeated_bytes_max);
  if (!tasks) return asked->send_error(tasks.error());
  const RequestedModel requested = tasks->model();
  if (const Status allowed = check_model(*asked, requested); !allowed)
    return asked->send_error(allowed.error());
  find_version(asked, models_, requested, RequestPurpose::kInfer, [asked, tasks = *std::move(tasks)] {
    run_tasks(asked, tasks, [asked](Bytes response) { asked->send(std::move(response)); });
  });
}

void GrpcRouter::infer(std::shared_ptr<Asked> asked) const {
  auto request = InferMessage::parse(asked->call->message());
  if (!request) return asked->send_error(request.error());
  const RequestedModel requested = request->model();
  if (const Status allowed = check_model(*asked, requested); !allowed)
    return asked->send_error(allowed.error());
  find_version(asked, models_, requested, RequestPurpose::kInfer,
               [asked, request = *std::move(request)] { run_call(asked, request, infer_response); });
}

}  // namespace headrace
