#pragma once

/// \file The gRPC server of the program, which decides what a call means. headrace/cli/servers/serve_grpc/
/// implements it for `headrace-server-grpc`; grpc_absent.cc does for `headrace-server`. This header has no
/// type of gRPC.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// One unary call. If it is destroyed without an answer, it answers with kInternal. It may outlive the
/// server; then its answer is dropped. May be moved to other threads, but is not thread-safe.
class GrpcCall {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~GrpcCall() = default;

  /// "/package.Service/Method".
  virtual std::string_view method() const = 0;
  /// The message, in one piece. Valid as long as this.
  virtual BytesView message() const = 0;
  /// The first metadata with that name, in any case; none if there is none.
  virtual std::optional<std::string_view> metadata(std::string_view name) const = 0;
  virtual Clock::time_point received() const = 0;
  /// The client's deadline; max() if there is none.
  virtual Clock::time_point deadline() const = 0;
  /// Reserves memory for an answer that is about to be made and may become that large, until `send`. Call it
  /// once for each part of the answer.
  /// \error kResourceExhausted  as ByteCharge::reserve_answer
  virtual Status reserve_answer(std::uint64_t bytes) = 0;
  /// Sends the answer. Never waits. Call it once. The text of an error is cut to 1,024 bytes. `retry_after`,
  /// unless 0, tells the client when to retry.
  virtual void send(Result<Bytes> answer, std::chrono::nanoseconds retry_after) = 0;
};

/// Functions that are called in the threads of the server, several at once. They must not throw or wait.
struct GrpcHandlers {
  /// Decides whether a call is accepted, before its message is read. Empty: all calls are.
  std::function<Status(std::string_view method, std::optional<std::string_view> authorization)> judge{};
  std::function<void(std::unique_ptr<GrpcCall>)> on_call{};
};

struct GrpcFrontOptions {
  /// "127.0.0.1:8500"; port 0: any free port.
  std::string listen;
  /// Number of threads, each with a queue of its own.
  int threads = 1;
  /// Size of the largest message; larger ones get kResourceExhausted.
  std::uint64_t body_bytes = 64 << 20;
  /// Bytes of messages and answers of all calls together; beyond it, calls get kResourceExhausted. Messages
  /// that are arriving may take as much again; then the connections that hold most are ended.
  std::uint64_t bytes_in_flight = 512 << 20;
  /// Calls that are read or answered at the same time; further calls get kResourceExhausted. A connection has
  /// at most `streams` of them; its other calls wait in the client.
  std::uint64_t calls = 8192;
  int streams = 1024;
  /// How long a message may take to arrive; later it gets kCancelled.
  std::chrono::milliseconds receive_timeout{60'000};
  /// PEM files, as in HttpServerTls; empty: without TLS. They are read again when they change.
  std::string certificate_file{};
  std::string key_file{};
  std::string client_ca_file{};
};

/// A running server. Thread-safe. Destruction stops it at once.
class GrpcFront {
 public:
  virtual ~GrpcFront() = default;
  virtual std::uint16_t port() const = 0;
  /// Accepts no new connections, and tells clients to go elsewhere. Waits for calls that have begun, and ends
  /// those that are not answered at the deadline. Returns false if there were such calls.
  virtual bool stop(std::chrono::steady_clock::time_point deadline) = 0;
};

/// Starts a server, which accepts calls from then on. Compressed messages are refused with kUnimplemented,
/// because a few bytes could become too many.
/// \error kUnimplemented       this program is built without gRPC
/// \error kFailedPrecondition  the port is in use or not allowed, or the TLS files are not readable
Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions& options, GrpcHandlers handlers);

}  // namespace headrace
