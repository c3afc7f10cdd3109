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

/// Most bytes of a streamed body in memory, in one direction: pieces that wait, that are processed, and that
/// are being received or sent.
inline constexpr std::uint64_t kStreamBytes = (PieceQueue<int>::kMost + 2) * kBodyPieceBytes;

/// Answers one request, once. If it is destroyed without an answer, it sends status 500. It may outlive the
/// server; then its answer is dropped. May be moved to other threads, but is not thread-safe.
class Responder {
 public:
  explicit Responder(std::shared_ptr<ServedConnection> connection) : connection_(std::move(connection)) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;
  ~Responder();

  /// Sends the answer. Never waits. In the thread that called OnRequest, the answer is written within the
  /// call if the socket takes it; from other threads, the connection's thread is woken. An answer counts as
  /// bytes in flight until the client has taken it.
  void send(HttpAnswer answer) &&;
  /// Reserves bytes in flight for an answer that is about to be made and may become that large, until `send`.
  /// Call it in the connection's thread; see `resume`.
  /// \error kResourceExhausted  as ByteCharge::reserve_answer
  Status reserve_answer(std::uint64_t bytes) const;
  /// Calls `work` in the connection's thread: soon, or at once if this is that thread. If the server has
  /// ended, calls it in this thread. `work` may destroy this Responder. Call it before `send`, and only after
  /// the previous `work` has run.
  void resume(std::function<void()> work) const;
  /// Whether the client has closed the connection or its sending side. Then most likely nobody reads the
  /// answer, and work for it can stop. Use the Responder all the same. A client that has sent more than 4 KiB
  /// of further requests is not watched.
  bool is_gone() const;
  /// Calls `callback` once if the client leaves before the answer is sent: in the connection's thread, or at
  /// once if the client has left already. It may be called while `send` runs in another thread, but not
  /// afterwards. It must not destroy or use this Responder.
  void on_gone(std::function<void()> callback) const;

 private:
  std::shared_ptr<ServedConnection> connection_;
};

/// The decision on a request, after its head has arrived.
struct HeadVerdict {
  /// If set, this answer is sent, and the body is not read.
  std::optional<HttpAnswer> refusal{};
  /// Replaces HttpServerLimits::body_bytes.
  std::optional<std::uint64_t> body_bytes_max{};
  /// The request is passed to OnRequest at once, with ReceivedRequest::stream. Such a body counts as at most
  /// kStreamBytes in flight, however large it is. It must not be compressed (415).
  bool is_streamed = false;
};

/// Both are called in the threads of the server, several at once. They must not throw or wait, because all
/// connections of that thread wait with them.
using OnHead = std::function<HeadVerdict(const RequestHead&)>;
using OnRequest = std::function<void(ReceivedRequest, Responder)>;

/// The server's limits. A request that exceeds one is refused with the status that the comment gives.
struct HttpServerLimits {
  using Milliseconds = std::chrono::milliseconds;

  /// With more connections, the one that has been idle longest is closed; if none is idle, the new one gets
  /// status 503. Each connection holds 4 KiB, and with TLS about 70 KiB more.
  std::size_t connections = 4096;
  std::size_t head_bytes = 16 << 10;       // 431
  std::size_t header_count = 100;          // 431; trailers count, too
  std::uint64_t body_bytes = 64 << 20;     // 413; also for an inflated body
  std::uint64_t inflate_ratio_max = 1000;  // 413, for bodies that inflate to more than 1 MiB
  /// Bodies of all requests, from the head until they are freed, and answers that are not sent yet. Beyond
  /// it: 429 with Retry-After; for a request with a body, before the body is read.
  std::uint64_t bytes_in_flight = 512 << 20;
  int retry_after_s = 1;

  Milliseconds head_timeout{10'000};  // for TLS's handshake and for a whole head: 408
  Milliseconds idle_timeout{75'000};  // between requests: closed
  /// A connection ends if its body or answer moves by less than `transfer_bytes_per_s` on average over
  /// `transfer_timeout`; for a body with 408.
  Milliseconds transfer_timeout{10'000};
  std::uint64_t transfer_bytes_per_s = 16 << 10;
  /// How long the server continues to read, and to drop what it reads, after an answer with which it ends a
  /// connection. Otherwise a client that is still sending would lose that answer.
  Milliseconds linger_timeout{2'000};
  /// While the server drains, connections that were idle for this long are closed. A client that uses one
  /// within this time is told by "Connection: close" instead.
  Milliseconds drain_idle_timeout{1'000};
};

struct HttpServerTls {
  std::string certificate_file;  // PEM: the server's certificate, then those between it and a root
  std::string key_file;          // PEM, without password
  /// PEM. If given, clients' certificates are checked against it.
  std::string client_ca_file{};
  /// True: a client without a certificate is refused. False: only a client with a wrong certificate is.
  bool is_client_certificate_required = true;
  /// How often the files are checked. New connections use a new valid pair; an invalid one is remarked on,
  /// and the old one stays in use.
  std::chrono::milliseconds look_every{5'000};
};

struct HttpServerOptions {
  /// Addresses: "127.0.0.1:8501", "[::1]:8501", "localhost:8501" (all its addresses), "0.0.0.0:8501" (all of
  /// IPv4), "[::]:8501" (everything). Port 0 lets the system choose.
  std::vector<std::string> listen;
  /// Number of threads, each with a loop of its own. A new connection goes to the loop with the fewest
  /// connections.
  int threads = 1;
  HttpServerLimits limits{};
  std::optional<HttpServerTls> tls{};
  /// Called with remarks for the operator, in threads of the server, one at a time.
  std::function<void(std::string)> on_remark{};
  /// Called in each of the server's threads, soon after OnRequest: once for all requests that arrived
  /// together.
  std::function<void()> on_round_end{};
};

struct HttpServerCounts {
  std::size_t connections = 0;
  std::size_t requests_in_flight = 0;  // from OnRequest until the answer is sent or dropped
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t refused_connections = 0;  // since the start, because no place was free
  std::uint64_t refused_requests = 0;     // since the start, by the server itself, not by OnHead
};

/// A running server. Thread-safe. Destruction closes all connections at once and waits for the threads, not
/// for Responders. It must not happen in the server's own threads.
class HttpServer {
 public:
  /// Starts a server, which accepts connections from then on.
  /// \error kInvalidArgument     an address or a limit is wrong
  /// \error kFailedPrecondition  a port is in use or not allowed; a certificate is expired, unreadable or
  ///                             does not match the key
  /// \error kResourceExhausted   the system refuses threads or descriptors
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, OnHead on_head,
                                                   OnRequest on_request);
  ~HttpServer();

  /// The port of the first address.
  std::uint16_t port() const;
  HttpServerCounts counts() const;

  /// Begins to drain: takes the connections that the system has already accepted, and then no more; answers
  /// say "Connection: close". Returns when no port is open. Must not be called in the server's own threads.
  void stop_accepting();
  /// Waits until no connection is open and every Responder has answered. Call it after stop_accepting.
  /// Returns false at the deadline.
  bool wait_until_idle(std::chrono::steady_clock::time_point deadline);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace
