#pragma once

/// \file Interprets and answers requests: TensorFlow Serving's REST API, KServe v2, and the routes that
/// Vertex AI gives a container.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "headrace/cli/servers/serve/access_tokens.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/request_trace.h"
#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/cli/servers/serve/serving_metrics.h"
#include "headrace/cli/servers/serve/status_page.h"
#include "headrace/serve/protocol/examples_request.h"

namespace headrace {

struct RequestRouterOptions {
  /// Memory for copies of a request's context; see ExamplesRequest.
  std::uint64_t repeated_bytes_max = 64 << 20;
  /// Paths that stand for the first model, as Vertex AI names them in AIP_PREDICT_ROUTE and AIP_HEALTH_ROUTE.
  std::string predict_route{};
  std::string health_route{};
  /// Null: everybody may send requests. Borrowed.
  AccessTokens* tokens = nullptr;
  /// Borrowed. Null: nothing is traced.
  const RequestTracer* tracer = nullptr;
  /// Whether there is a page at `/`.
  bool has_page = true;
};

/// Answers the requests of a server. Thread-safe.
class RequestRouter {
 public:
  /// `models` and `metrics` must outlive this.
  RequestRouter(const ServedModels& models, ServingMetrics& metrics, RequestRouterOptions options);

  /// Decides by its head whether a request is accepted: its token. Health probes need no token.
  HeadVerdict judge(const RequestHead& head) const;
  /// Answers a client's request. The header X-Request-Timeout-Ms may set a deadline. Its rows may wait until
  /// `end_round` is called in this thread.
  void answer(ReceivedRequest request, Responder responder) const;
  /// Runs the requests that this thread was given; see CommitRound.
  static void end_round();
  /// Answers an operator's request: /livez, /readyz, /startupz, /metrics (also under TensorFlow Serving's
  /// path), /models.
  void answer_admin(const ReceivedRequest& request, Responder responder, const HttpServerCounts& http) const;

  /// From now on, readiness says no.
  void begin_drain() { is_draining_ = true; }

 private:
  struct Asked;
  bool is_ready() const { return !is_draining_ && models_.are_ready(); }
  void answer_rest(std::shared_ptr<Asked> asked) const;
  static void describe_rest(const std::shared_ptr<Asked>& asked);
  static void predict_rest(const std::shared_ptr<Asked>& asked);
  static void ask_by_examples(const std::shared_ptr<Asked>& asked, ExamplesMethod method,
                              std::uint64_t repeated_bytes_max);
  void answer_infer(std::shared_ptr<Asked> asked) const;
  static void describe_infer(Asked& asked);
  static void infer(const std::shared_ptr<Asked>& asked);

  const ServedModels& models_;
  ServingMetrics& metrics_;
  const RequestRouterOptions options_;
  const StatusPage page_;
  std::atomic<bool> is_draining_ = false;
};

}  // namespace headrace
