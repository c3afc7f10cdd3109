#pragma once

/// \file MLflow's REST API on Headrace's records of runs: docs/decisions/mlflow-server.md. It knows paths,
/// queries and bodies, not sockets.
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

/// Bytes that must be readable behind the body of a request.
inline constexpr std::size_t kBodyPaddingBytes = 64;

struct TrackingServiceOptions {
  Location root;                    // the tracking root
  std::string root_url;             // the same, with its query
  StoreRegistry* stores = nullptr;  // borrowed
  /// The folder of the user's caches (base/environment.h): searches of runs are answered from the index there
  /// (docs/decisions/run-index.md). None: they read all records, and keep them in memory.
  std::optional<std::string> cache{};
  /// Folder of this machine for the journals of metrics.
  std::string journals{};
  std::vector<std::string> command_line{};
  std::string version{};  // of Headrace
  std::function<std::chrono::system_clock::time_point()> now{};
  /// Something that the operator should know. Called from any thread.
  std::function<void(const std::string&)> remark{};
};

/// Borrows everything.
struct ApiRequest {
  std::string_view method;
  std::string_view target;  // path and query
  std::string_view body{};  // with kBodyPaddingBytes behind it
  /// In place of `body`, of an artifact that comes: see Artifacts::write.
  NextPiece next_piece{};
  std::string_view range{};  // the header Range
};

struct ApiAnswer {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body{};
  /// Instead of `body`: an artifact. `read` may wait for the store; it borrows the service.
  std::optional<OpenArtifact> artifact{};
};

/// MLflow's error: its code and its status for a Code.
ApiAnswer error_answer(const Error& error);

enum class RequestKind : std::uint8_t {
  kImmediate,  // answered from memory
  kLogging,    // of points: `answer_at_once` mostly has an answer
  kOther,      // asks the store
  kArtifact,   // the body is an artifact, which may come in pieces, or the answer
};
/// By its method and target.
RequestKind kind_of(std::string_view method, std::string_view target);

/// Whether the answer may have many bytes: an artifact, a history, a search.
bool has_large_answer(std::string_view method, std::string_view target);

/// Thread-safe.
class TrackingService {
 public:
  explicit TrackingService(TrackingServiceOptions options);
  ~TrackingService();

  /// Writes what killed processes of this machine have left in their journals. Call it before the first
  /// request. Returns remarks for people.
  std::vector<std::string> recover(const CallOptions& call);
  /// Waits for the store where the request needs it.
  ApiAnswer answer(const ApiRequest& request, const CallOptions& call);
  /// The answer, if it needs no store: points are logged into an open run. None: nothing is done, and
  /// `answer` is to be called, which may wait. REQUIRES: kind_of is kLogging
  std::optional<ApiAnswer> answer_at_once(const ApiRequest& request);
  /// All points are in the store, and the open parts of runs end. Call it after the last answer. Returns what
  /// could not be done.
  std::vector<std::string> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::mlflow
