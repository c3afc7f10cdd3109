#pragma once

/// \file An HTTP/1.1 client: connections kept between requests, many requests in flight on one thread, TLS,
/// and a bound on every wait. docs/store-client.md describes how it works.
///
///   HttpClient client({});
///   HEADRACE_TRY(const HttpEndpoint endpoint, parse_http_endpoint("http://127.0.0.1:9000"));
///   HEADRACE_TRY(const HttpResponse response, client.perform({.endpoint = endpoint, .target =
///   "/minio/health/live"}));
///
/// Its callers handle redirects (they are answers like any other, since only the owner of credentials can
/// decide where they may go), retries of answered requests, authentication, cookies, caching and
/// decompression.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>

#include "headrace/base/result.h"
#include "headrace/net/http/http_governor.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_parser.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/net/tls.h"

namespace headrace {

struct HttpClientOptions {
  /// The most open connections to all servers together, idle ones included. Requests beyond them wait.
  std::size_t max_connections = 64;
  /// Covers connecting and the TLS handshake, over all addresses of the host together.
  std::chrono::milliseconds connect_timeout{10'000};
  /// An idle connection older than this is closed rather than used: servers drop theirs, often unannounced.
  std::chrono::milliseconds idle_timeout{15'000};
  TlsOptions tls = TlsOptions();
  HttpProxies proxies{};
  HttpLimits limits{};
};

class HttpConnections;

/// Thread-safe: any number of threads may use it at once. Destroy it only when none does.
class HttpClient {
 public:
  explicit HttpClient(const HttpClientOptions& options);
  ~HttpClient();

  /// Sends one request and reads the whole answer. Any status is a success. A repeatable request is sent a
  /// second time, on a new connection, if a kept connection was closed before any byte of the answer; after
  /// any error, whether the server acted on the request is unknown. Error messages name method and endpoint,
  /// never header fields, target or body.
  /// \error kUnavailable         no connection, or it was lost before the end of the answer
  /// \error kDeadlineExceeded    no progress for `stall_timeout`
  /// \error kCancelled           `stop` was requested
  /// \error kUnauthenticated     the server's certificate is not accepted; a proxy wants a password
  /// \error kFailedPrecondition  the certificate authorities cannot be read
  /// \error kDataLoss            the answer is malformed or longer than there is room for
  /// \error kInvalidArgument     the request itself: a control character in method, target or a header field
  /// \error kResourceExhausted   the system has no file descriptor left
  Result<HttpResponse> perform(const HttpRequest& request, const std::stop_token& stop = {});

  /// The counters of the client's requests to that endpoint so far.
  HttpCounters counters(const HttpEndpoint& endpoint) const;

 private:
  friend class HttpTransfers;
  const std::unique_ptr<HttpConnections> connections_;
};

/// Many requests in flight, all driven by the thread that waits for them. Not thread-safe.
///
///   HttpTransfers transfers(client, stop);
///   for (…) transfers.start(request, [&](Result<HttpResponse> response) { … });
///   transfers.run();
class HttpTransfers {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  HttpTransfers(HttpClient& client, std::stop_token stop);
  /// Gives up requests that are not over, without calling their `done`.
  ~HttpTransfers();

  /// Starts a request. `request` and the memory that it borrows must stay until `run` has called `done`,
  /// once. The response or the error is that of `HttpClient::perform`. Requests that find no connection wait,
  /// in their order.
  void start(const HttpRequest& request, Done done);
  /// Lets `run` call `then` after a pause.
  void after(std::chrono::milliseconds pause, std::function<void()> then);

  /// Call it from a `done` or `then` that is about to take long, so that other threads which need connections
  /// do not wait for this one's turn.
  void give_way();

  /// Runs until nothing is left to wait for, including requests that `done` and `then` have started. After a
  /// stop, all requests end at once with kCancelled, and pauses end.
  void run();

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace headrace
