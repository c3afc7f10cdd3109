#pragma once

/// \file Interprets and answers gRPC calls: TensorFlow Serving's PredictionService and ModelService, KServe
/// v2's GRPCInferenceService, and gRPC's own health service.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "headrace/cli/servers/serve/access_tokens.h"
#include "headrace/cli/servers/serve/grpc_front.h"
#include "headrace/cli/servers/serve/request_trace.h"
#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/cli/servers/serve/serving_metrics.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/protocol/grpc_service.h"

namespace headrace {

struct GrpcRouterOptions {
  /// Memory for values that the tensors of a request repeat; see PredictRequest.
  std::uint64_t repeated_bytes_max = 64 << 20;
  /// Borrowed. Null: everybody may send requests.
  AccessTokens* tokens = nullptr;
  /// Borrowed. Null: nothing is traced.
  const RequestTracer* tracer = nullptr;
};

/// Answers the calls of a server. Thread-safe.
class GrpcRouter {
 public:
  /// `models` and `metrics` must outlive this.
  GrpcRouter(const ServedModels& models, ServingMetrics& metrics, const GrpcRouterOptions& options)
      : models_(models), metrics_(metrics), options_(options) {}

  /// Decides by its token whether a call is accepted, before its message is read. Health probes need no
  /// token.
  Status judge(std::string_view method, std::optional<std::string_view> authorization) const;
  void answer(std::unique_ptr<GrpcCall> call) const;

  /// From now on, health says NOT_SERVING, and readiness says no.
  void begin_drain() { is_draining_ = true; }

 private:
  struct Asked;
  bool is_ready() const { return !is_draining_ && models_.are_ready(); }
  Result<Bytes> describe(GrpcMethod method, Asked& asked) const;
  Status check_model(const Asked& asked, const RequestedModel& requested) const;
  Result<Bytes> health_of(std::string_view service) const;
  void predict(std::shared_ptr<Asked> asked) const;
  void infer(std::shared_ptr<Asked> asked) const;
  void ask_by_examples(std::shared_ptr<Asked> asked, ExamplesMethod method) const;
  void run_multi_inference(std::shared_ptr<Asked> asked) const;
  void answer_metadata(std::shared_ptr<Asked> asked, GrpcMethod method) const;

  const ServedModels& models_;
  ServingMetrics& metrics_;
  const GrpcRouterOptions options_;
  std::atomic<bool> is_draining_ = false;
};

}  // namespace headrace
