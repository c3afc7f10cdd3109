#pragma once

/// \file An HTTP/1.1 server: sockets, TLS, limits and the order of answers. The program that uses it decides
/// what a request means.
///
///   HttpServerOptions options{.listen = {"127.0.0.1:8501"}, .threads = 2};
///   HEADRACE_TRY(const auto server, HttpServer::start(
///       options, [](const RequestHead&) { return HeadVerdict{}; },
///       [](ReceivedRequest request, Responder responder) {
///         std::move(responder).send({.body = answer_to(request.body.text())});
///       }));
///   ...
///   server->stop_accepting();
///   server->wait_until_idle(deadline);

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/http_answer.h"
#include "headrace/cli/servers/serve/received_request.h"

namespace headrace {

class ServedConnection;

/// So many bytes of a streamed body are in memory at most, one way: pieces that wait, that are worked on, and
/// that are being received or sent.
inline constexpr std::uint64_t kStreamBytes = (PieceQueue<int>::kMost + 2) * kBodyPieceBytes;

/// Answers one request, once. Destroyed without an answer, it sends status 500. It may outlive the server;
/// its answer is then dropped. Movable to other threads; one thread at a time.
class Responder {
 public:
  explicit Responder(std::shared_ptr<ServedConnection> connection) : connection_(std::move(connection)) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;
  ~Responder();

  /// Never waits. From the thread that called OnRequest, the answer is written within the call if the socket
  /// takes it; from others, the connection's thread is woken. An answer counts as bytes in flight until the
  /// client has taken it.
  void send(HttpAnswer answer) &&;
  /// Counts an answer that is about to be made, and may become so large, as bytes in flight until `send`.
  /// In the connection's thread: see `resume`.
  /// \error kResourceExhausted  as ByteCharge::reserve_answer
  Status reserve_answer(std::uint64_t bytes) const;
  /// Calls `work` in the connection's thread: soon, at once if that is this thread, and here if the server
  /// has ended. `work` may destroy this. One after another, before `send`.
  void resume(std::function<void()> work) const;
  /// The client has closed the connection, or its sending side: most likely nobody reads the answer, and work
  /// for it can stop. The Responder should still be used. A client that has sent more than 4 KiB of further
  /// requests is not watched.
  bool is_gone() const;
  /// Calls `callback` once if the client goes before the answer is sent: in the connection's thread, or at
  /// once if the client has gone. It may be called while `send` is running in another thread, not after. It
  /// must not destroy or use this Responder.
  void on_gone(std::function<void()> callback) const;

 private:
  std::shared_ptr<ServedConnection> connection_;
};

/// The decision on a request whose head has come.
struct HeadVerdict {
  /// Sent instead of the body's being read.
  std::optional<HttpAnswer> refusal{};
  /// In place of HttpServerLimits::body_bytes.
  std::optional<std::uint64_t> body_bytes_max{};
  /// The request comes to OnRequest at once, with ReceivedRequest::stream. Such a body counts as
  /// kStreamBytes in flight at most, however large it is; it must not be compressed (415).
  bool is_streamed = false;
};

/// Both are called in the threads of the server, several at once, and must not throw or wait: all connections
/// of the thread wait with them.
using OnHead = std::function<HeadVerdict(const RequestHead&)>;
using OnRequest = std::function<void(ReceivedRequest, Responder)>;

/// The server's bounds. A request that passes one is refused with the status given here.
struct HttpServerLimits {
  using Milliseconds = std::chrono::milliseconds;

  /// With more, the one that is idle for longest is closed; if none is, the new one gets status 503. Each
  /// holds 4 KiB, and with TLS about 70 KiB more.
  std::size_t connections = 4096;
  std::size_t head_bytes = 16 << 10;       // 431
  std::size_t header_count = 100;          // 431; trailers count, too
  std::uint64_t body_bytes = 64 << 20;     // 413; of an inflated body, too
  std::uint64_t inflate_ratio_max = 1000;  // 413, for bodies that inflate to more than 1 MiB
  /// Bodies of all requests, from the head on until they are freed, and answers that are not yet sent: 429
  /// with Retry-After, and for a request with a body before that is read.
  std::uint64_t bytes_in_flight = 512 << 20;
  int retry_after_s = 1;

  Milliseconds head_timeout{10'000};  // for TLS's handshake and for a whole head: 408
  Milliseconds idle_timeout{75'000};  // between requests: closed
  /// A body or an answer that moves by less than `transfer_bytes_per_s`, on average over a span of
  /// `transfer_timeout`, ends its connection; 408 for a body.
  Milliseconds transfer_timeout{10'000};
  std::uint64_t transfer_bytes_per_s = 16 << 10;
  /// How long the server reads on, and drops, after an answer with which it ends a connection: a client that
  /// is still sending would otherwise lose that answer.
  Milliseconds linger_timeout{2'000};
  /// When the server drains, connections are closed that were idle for so long. A client that would use one
  /// within this time is told by "Connection: close" instead.
  Milliseconds drain_idle_timeout{1'000};
};

struct HttpServerTls {
  std::string certificate_file;  // PEM: the server's certificate, then those between it and a root
  std::string key_file;          // PEM, without password
  /// PEM. If given, certificates of clients are checked against it.
  std::string client_ca_file{};
  /// A client without a certificate is refused; otherwise only one with a wrong certificate is.
  bool is_client_certificate_required = true;
  /// The files are looked at this often. New connections use what a valid pair says; an invalid one is
  /// remarked on, and the old one stays.
  std::chrono::milliseconds look_every{5'000};
};

struct HttpServerOptions {
  /// "127.0.0.1:8501", "[::1]:8501", "localhost:8501" (all its addresses), "0.0.0.0:8501" (all of IPv4),
  /// "[::]:8501" (everything). Port 0 lets the system choose.
  std::vector<std::string> listen;
  /// Each runs a loop of its own; a new connection goes to the loop with the fewest.
  int threads = 1;
  HttpServerLimits limits{};
  std::optional<HttpServerTls> tls{};
  /// Something that the operator should know. Called in threads of the server, one at a time.
  std::function<void(std::string)> on_remark{};
  /// Called in each of the server's threads, soon after OnRequest was: once for all requests that have come
  /// together.
  std::function<void()> on_round_end{};
};

struct HttpServerCounts {
  std::size_t connections = 0;
  std::size_t requests_in_flight = 0;  // from OnRequest until the answer is sent or dropped
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t refused_connections = 0;  // since the start: no place was free
  std::uint64_t refused_requests = 0;     // since the start: by the server itself, not by OnHead
};

/// Thread-safe. Destruction closes all connections at once and waits for the threads, not for Responders; not
/// in the server's own threads.
class HttpServer {
 public:
  /// Listens, and accepts from then on.
  /// \error kInvalidArgument     an address or a limit is wrong
  /// \error kFailedPrecondition  a port is in use or not allowed; a certificate is expired, unreadable or not
  ///                             the key's
  /// \error kResourceExhausted   the system refuses threads or descriptors
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, OnHead on_head,
                                                   OnRequest on_request);
  ~HttpServer();

  /// The port of the first address.
  std::uint16_t port() const;
  HttpServerCounts counts() const;

  /// Begins to drain: connections that the system has already accepted are taken, and then none; answers say
  /// "Connection: close". Returns when no port is open. Not in the server's own threads.
  void stop_accepting();
  /// Waits until no connection is open and no Responder unused, after stop_accepting. False at the deadline.
  bool wait_until_idle(std::chrono::steady_clock::time_point deadline);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace
