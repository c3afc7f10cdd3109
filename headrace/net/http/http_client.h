#pragma once

/// \file An HTTP/1.1 client: connections kept between requests, many requests in flight on one thread, TLS,
/// and a limit on every wait. docs/store-client.md describes how it works.
///
///   HttpClient client({});
///   HEADRACE_TRY(const HttpEndpoint endpoint, parse_http_endpoint("http://127.0.0.1:9000"));
///   HEADRACE_TRY(const HttpResponse response, client.perform({.endpoint = endpoint, .target =
///   "/minio/health/live"}));
///
/// It leaves to its callers: retries of answered requests, authentication, cookies, caching, decompression,
/// and redirects. A redirect is an answer like any other, because only the owner of credentials can decide
/// where they may be sent.

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
  /// Limit for open connections to all servers together, including idle ones. Further requests wait.
  std::size_t max_connections = 64;
  /// Limit for connecting and the TLS handshake, for all addresses of the host together.
  std::chrono::milliseconds connect_timeout{10'000};
  /// A connection that has been idle for longer is closed and not used again, because servers drop idle
  /// connections, often unannounced.
  std::chrono::milliseconds idle_timeout{15'000};
  TlsOptions tls = TlsOptions();
  HttpProxies proxies{};
  HttpLimits limits{};
};

class HttpConnections;

/// Thread-safe. Destroy it only when no thread uses it.
class HttpClient {
 public:
  explicit HttpClient(const HttpClientOptions& options);
  ~HttpClient();

  /// Sends one request and reads the whole answer. An answer with any status is a success. A repeatable
  /// request is sent a second time, on a new connection, if a kept connection was closed before any byte of
  /// the answer arrived. After an error, it is unknown whether the server acted on the request. Error
  /// messages name the method and the endpoint, never header fields, target or body.
  /// \error kUnavailable         no connection could be made, or it was lost before the end of the answer
  /// \error kDeadlineExceeded    there was no progress for `stall_timeout`
  /// \error kCancelled           a stop was requested on `stop`
  /// \error kUnauthenticated     the server's certificate is not accepted, or a proxy requires a password
  /// \error kFailedPrecondition  the certificate authorities cannot be read
  /// \error kDataLoss            the answer is malformed or larger than the request allows
  /// \error kInvalidArgument     the method, the target or a header field contains a control character
  /// \error kResourceExhausted   the system has no file descriptor left
  Result<HttpResponse> perform(const HttpRequest& request, const std::stop_token& stop = {});

  /// Counts this client's requests to that endpoint so far.
  HttpCounters counters(const HttpEndpoint& endpoint) const;

 private:
  friend class HttpTransfers;
  const std::unique_ptr<HttpConnections> connections_;
};

/// Drives many requests at once, all on the thread that calls `run`. Not thread-safe.
///
///   HttpTransfers transfers(client, stop);
///   for (…) transfers.start(request, [&](Result<HttpResponse> response) { … });
///   transfers.run();
class HttpTransfers {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  HttpTransfers(HttpClient& client, std::stop_token stop);
  /// Abandons requests that are not over, without calling their `done`.
  ~HttpTransfers();

  /// Starts a request. `run` calls `done` once, with the result that `HttpClient::perform` would have.
  /// `request` and the memory that it borrows must stay valid until then. If all connections are taken,
  /// requests wait in the order in which they were started.
  void start(const HttpRequest& request, Done done);
  /// Makes `run` call `then` after a pause.
  void after(std::chrono::milliseconds pause, std::function<void()> then);

  /// To be called from a `done` or `then` that is about to take long. This thread then gives up its turn for
  /// a connection, so that other threads need not wait for it.
  void give_way();

  /// Blocks until all requests and pauses are over, including those that `done` and `then` have started.
  /// After a stop request, all requests end at once with kCancelled, and all pauses end.
  void run();

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace headrace
