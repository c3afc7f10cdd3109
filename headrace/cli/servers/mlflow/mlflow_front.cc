#include "headrace/cli/servers/mlflow/mlflow_front.h"

#include <memory>

#include "headrace/base/text.h"
#include "headrace/cli/servers/mlflow/request_origin.h"

namespace headrace {
namespace {

constexpr int kStoreThreads = 16;
constexpr int kArtifactThreads = 2;  // each holds a whole artifact
constexpr int kMostWaiting = 256;

HttpAnswer http_answer(mlflow::ApiAnswer answer) {
  HttpAnswer out{.status = answer.status,
                 .content_type = std::move(answer.content_type),
                 .body = std::move(answer.body)};
  if (out.status == 429 || out.status == 503) out.headers.emplace_back("Retry-After", "1");
  // A browser shows nothing of an artifact as a page of this server.
  out.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return out;
}

HttpAnswer http_error(const Error& error) { return http_answer(mlflow::error_answer(error)); }

struct AskedOfMlflow {
  ReceivedRequest request;
  Responder responder;
};

}  // namespace

MlflowFront::MlflowFront(mlflow::TrackingService& service, MlflowFrontOptions options)
    : service_(service),
      options_(std::move(options)),
      logging_(options_.logging_threads, kMostWaiting),
      others_(kStoreThreads, kMostWaiting),
      artifacts_(kArtifactThreads, kMostWaiting) {}

HeadVerdict MlflowFront::judge(const RequestHead& head) const {
  const Status origin =
      check_request_origin(head.header("Host"), head.header("Origin"), options_.allowed_hosts);
  if (!origin) return {.refusal = http_error(origin.error())};
  const auto kind = mlflow::kind_of(head.method(), head.target());
  if (options_.tokens != nullptr && kind != mlflow::RequestKind::kImmediate) {
    const Status allowed = options_.tokens->check(head.header("Authorization"), std::nullopt);
    if (!allowed) {
      HttpAnswer refusal = http_error(allowed.error());
      if (allowed.error().code == Code::kUnauthenticated)
        refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"headrace\"");
      return {.refusal = std::move(refusal)};
    }
  }
  const bool is_artifact = kind == mlflow::RequestKind::kArtifact;
  return {.body_bytes_max = is_artifact ? options_.artifact_bytes_max : kBodyBytesMax};
}

RequestWorkers& MlflowFront::workers_for(mlflow::RequestKind kind) {
  if (kind == mlflow::RequestKind::kLogging) return logging_;
  return kind == mlflow::RequestKind::kArtifact ? artifacts_ : others_;
}

// Just before it is read: a request may have waited while others were answered.
HttpAnswer MlflowFront::answer_now(std::string_view method, std::string_view target,
                                   std::string_view body) const {
  if (options_.bytes_in_flight && mlflow::has_large_answer(method, target) &&
      options_.bytes_in_flight() > options_.busy_bytes)
    return http_error({Code::kResourceExhausted, "many large answers are read at the moment; ask again"});
  return http_answer(service_.answer({.method = method, .target = target, .body = body}, {}));
}

void MlflowFront::answer(ReceivedRequest request, Responder responder) {
  const auto kind = mlflow::kind_of(request.head.method(), request.head.target());
  // Functions are copied, and these cannot be.
  const auto asked = std::make_shared<AskedOfMlflow>(AskedOfMlflow{std::move(request), std::move(responder)});
  const auto work = [this, asked] {
    const RequestHead& head = asked->request.head;
    std::move(asked->responder).send(answer_now(head.method(), head.target(), asked->request.body.text()));
  };
  if (kind == mlflow::RequestKind::kImmediate) return work();
  if (workers_for(kind).add(work)) return;
  std::move(asked->responder)
      .send(http_error({Code::kUnavailable, "too many requests wait for an answer; ask again"}));
}

}  // namespace headrace
