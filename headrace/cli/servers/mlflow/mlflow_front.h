#pragma once

/// \file MLflow's API over HTTP: who may ask, bounds, and threads. headrace/mlflow/ knows what a request
/// means.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "headrace/cli/servers/mlflow/request_workers.h"
#include "headrace/cli/servers/serve/access_tokens.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/mlflow/service.h"

namespace headrace {

struct MlflowFrontOptions {
  /// Names of the server, in lower case: see check_request_origin.
  std::set<std::string, std::less<>> allowed_hosts{};
  /// None: everybody may ask. Borrowed.
  AccessTokens* tokens = nullptr;
  std::uint64_t artifact_bytes_max = std::uint64_t{1000} << 30;
  /// Nothing that may be large is read, and no artifact taken, while bodies and answers have more bytes: the
  /// rest is for what is logged.
  std::uint64_t busy_bytes = 512 << 20;
  /// HttpServerCounts'. None: never busy. Is called from any thread.
  std::function<std::uint64_t()> bytes_in_flight{};
  int logging_threads = 2;
};

/// Thread-safe. Outlives the HttpServer that calls it, but for its Responders.
class MlflowFront {
 public:
  static constexpr std::uint64_t kBodyBytesMax = 16 << 20;

  /// Borrows `service`.
  MlflowFront(mlflow::TrackingService& service, MlflowFrontOptions options);

  HeadVerdict judge(const RequestHead& head) const;
  void answer(ReceivedRequest request, Responder responder);
  /// The same in this thread.
  mlflow::ApiAnswer answer_now(const mlflow::ApiRequest& request) const;

 private:
  struct Asked;
  using AskedPointer = std::shared_ptr<Asked>;

  void log(const AskedPointer& asked);
  void ask_store(RequestWorkers& workers, const AskedPointer& asked) const;
  bool is_busy() const;
  RequestWorkers& workers_for_artifact(std::string_view method);

  mlflow::TrackingService& service_;
  const MlflowFrontOptions options_;
  RequestWorkers others_;
  RequestWorkers downloads_;
  RequestWorkers uploads_;
  RequestWorkers logging_;  // ends before others_, to which it hands requests
};

}  // namespace headrace
