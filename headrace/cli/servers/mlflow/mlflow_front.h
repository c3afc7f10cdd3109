#pragma once

/// \file MLflow's API over HTTP: access, limits and threads. headrace/mlflow/ interprets the requests.

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
  /// Names of the server, in lower case; see check_request_origin.
  std::set<std::string, std::less<>> allowed_hosts{};
  /// Null: everybody may send requests. Borrowed.
  AccessTokens* tokens = nullptr;
  std::uint64_t artifact_bytes_max = std::uint64_t{1000} << 30;
  /// Above this many bytes of bodies and answers, no large answers are read and no artifacts are accepted.
  /// The remaining memory is for logging.
  std::uint64_t busy_bytes = 512 << 20;
  /// Returns HttpServerCounts::bytes_in_flight. Called from any thread. Empty: never busy.
  std::function<std::uint64_t()> bytes_in_flight{};
  int logging_threads = 2;
};

/// Decides on requests and answers them. Thread-safe. Must outlive the HttpServer that calls it; Responders
/// may outlive it.
class MlflowFront {
 public:
  static constexpr std::uint64_t kBodyBytesMax = 16 << 20;

  /// `service` must outlive this.
  MlflowFront(mlflow::TrackingService& service, MlflowFrontOptions options);

  /// Decides by its head whether a request is accepted: its origin, its token, and the limit of its body.
  HeadVerdict judge(const RequestHead& head) const;
  /// Answers a request, usually from another thread. If too many requests wait, refuses it with kUnavailable.
  void answer(ReceivedRequest request, Responder responder);
  /// Answers a request in this thread, and may wait for the store.
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
  RequestWorkers logging_;  // ends before others_, because it hands requests to it
};

}  // namespace headrace
