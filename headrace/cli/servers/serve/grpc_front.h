#pragma once

/// \file The gRPC server of the program, which decides what a call means. headrace/cli/servers/serve_grpc/
/// defines it for `headrace-server-grpc`, grpc_absent.cc for `headrace-server`. No type of gRPC is here.

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

/// One unary call. Destroyed without an answer, it answers with kInternal. It may outlive the server; its
/// answer is then dropped. Movable to other threads; one thread at a time.
class GrpcCall {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~GrpcCall() = default;

  /// "/package.Service/Method".
  virtual std::string_view method() const = 0;
  /// The message, in one piece. Lives as long as this.
  virtual BytesView message() const = 0;
  /// The first metadata of that name, in any case; none: there is none.
  virtual std::optional<std::string_view> metadata(std::string_view name) const = 0;
  virtual Clock::time_point received() const = 0;
  /// The client's; max() if there is none.
  virtual Clock::time_point deadline() const = 0;
  /// Counts an answer that is about to be made, and may become so large, as bytes in flight until `send`.
  /// Once for each of its parts.
  /// \error kResourceExhausted  as ByteCharge::reserve_answer
  virtual Status reserve_answer(std::uint64_t bytes) = 0;
  /// Never waits. Call it once. An error's text is cut to 1,024 bytes. `retry_after`, unless 0, tells the
  /// client when to come again.
  virtual void send(Result<Bytes> answer, std::chrono::nanoseconds retry_after) = 0;
};

/// Called in the threads of the server, several at once. Must not throw or wait.
struct GrpcHandlers {
  /// Decides, before the message is read, whether a call may go on. Empty: each may.
  std::function<Status(std::string_view method, std::optional<std::string_view> authorization)> judge{};
  std::function<void(std::unique_ptr<GrpcCall>)> on_call{};
};

struct GrpcFrontOptions {
  /// "127.0.0.1:8500"; port 0: any free port.
  std::string listen;
  /// Each with a queue of its own.
  int threads = 1;
  /// The largest message: kResourceExhausted.
  std::uint64_t body_bytes = 64 << 20;
  /// Messages and answers of all calls together: kResourceExhausted. Messages on their way may take as much
  /// again; then the connections that hold most are ended.
  std::uint64_t bytes_in_flight = 512 << 20;
  /// Calls that are read or answered at the same time: kResourceExhausted. A connection has at most
  /// `streams` of them: its others wait in the client.
  std::uint64_t calls = 8192;
  int streams = 1024;
  /// How long a message may take to arrive: kCancelled.
  std::chrono::milliseconds receive_timeout{60'000};
  /// PEM files; empty: without TLS. As HttpServerTls, and read again when they change.
  std::string certificate_file{};
  std::string key_file{};
  std::string client_ca_file{};
};

/// Thread-safe. Destruction stops it at once.
class GrpcFront {
 public:
  virtual ~GrpcFront() = default;
  virtual std::uint16_t port() const = 0;
  /// Takes no new connection, and tells clients to go elsewhere. Waits for the calls that were begun, and
  /// ends those that are not answered at the deadline. False: there were some.
  virtual bool stop(std::chrono::steady_clock::time_point deadline) = 0;
};

/// Listens, and takes calls from then on. Messages that are compressed are refused with kUnimplemented: a few
/// bytes could become too many.
/// \error kUnimplemented       this program is built without gRPC
/// \error kFailedPrecondition  the port is in use or not allowed, or TLS's files are not readable
Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions& options, GrpcHandlers handlers);

}  // namespace headrace
