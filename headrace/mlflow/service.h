#pragma once

/// \file MLflow's REST API on Headrace's records of runs: docs/decisions/mlflow-server.md. It handles paths,
/// queries and bodies; it has no sockets.
///
///   TrackingService service(options);
///   const ApiAnswer answer = service.answer({.method = "POST", .target = "/api/2.0/mlflow/runs/log-batch",
///                                            .body = body}, call);

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/mlflow/artifacts.h"
#include "headrace/store/location.h"
#include "headrace/store/registry.h"

namespace headrace::mlflow {

/// Number of bytes that must be readable after the body of a request.
inline constexpr std::size_t kBodyPaddingBytes = 64;

struct TrackingServiceOptions {
  Location root;                    // the tracking root
  std::string root_url;             // URL of the tracking root, with its query
  StoreRegistry* stores = nullptr;  // borrowed
  /// The folder of the user's caches (base/environment.h). Searches of runs are answered from the index there
  /// (docs/decisions/run-index.md). nullopt: searches read all records, and keep them in memory.
  std::optional<std::string> cache{};
  /// Folder on this machine for the journals of metrics.
  std::string journals{};
  std::vector<std::string> command_line{};
  std::string version{};  // of Headrace
  std::function<std::chrono::system_clock::time_point()> now{};
  /// Called from any thread with messages for the operator.
  std::function<void(const std::string&)> remark{};
};

/// A request. Borrows all its texts.
struct ApiRequest {
  std::string_view method;
  std::string_view target;  // path and query
  std::string_view body{};  // with kBodyPaddingBytes readable after it
  /// For an uploaded artifact, in place of `body`: see Artifacts::write.
  NextPiece next_piece{};
  std::string_view range{};  // the header Range
};

struct ApiAnswer {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body{};
  /// An artifact, in place of `body`. Its `read` may wait for the store; the service must outlive it.
  std::optional<OpenArtifact> artifact{};
};

/// The answer for an error, with MLflow's error code and HTTP status.
ApiAnswer error_answer(const Error& error);

enum class RequestKind : std::uint8_t {
  kImmediate,  // answered from memory
  kLogging,    // logs points: `answer_at_once` usually has the answer
  kOther,      // needs requests to the store
  kArtifact,   // the body or the answer is an artifact, which may come in pieces
};
/// The kind of a request, from its method and target.
RequestKind kind_of(std::string_view method, std::string_view target);

/// Whether the answer may be large: an artifact, a history, or a search.
bool has_large_answer(std::string_view method, std::string_view target);

/// Answers the requests of MLflow's clients. Thread-safe.
class TrackingService {
 public:
  explicit TrackingService(TrackingServiceOptions options);
  ~TrackingService();

  /// Writes the points that killed processes have left in journals on this machine to the store. Call it
  /// before the first request. Returns remarks for people.
  std::vector<std::string> recover(const CallOptions& call);
  /// Answers a request; waits for the store if necessary. Errors are answers too: error_answer.
  ApiAnswer answer(const ApiRequest& request, const CallOptions& call);
  /// Answers a request that logs points into an open run, without waiting for the store. nullopt: that is not
  /// possible, and nothing was done; call `answer`. REQUIRES: kind_of the request is kLogging
  std::optional<ApiAnswer> answer_at_once(const ApiRequest& request);
  /// Writes all points to the store, and ends the open parts of runs. Call it after the last answer. Returns
  /// a message for each failure.
  std::vector<std::string> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::mlflow
