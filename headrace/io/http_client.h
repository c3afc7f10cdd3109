#pragma once

/// \file A blocking HTTP/1.1 client: connections kept between requests, TLS, and a bound on every wait.
///
///   HttpClient client({});
///   HEADRACE_TRY(const HttpEndpoint endpoint, parse_http_endpoint("http://127.0.0.1:9000"));
///   HEADRACE_TRY(const HttpResponse response, client.perform({.endpoint = endpoint, .target =
///   "/minio/health/live"}));
///
/// What it leaves to its callers: redirects (an answer like any other: whoever holds credentials decides
/// where they may go), retries of answered requests, authentication, cookies, caching, decompression. No
/// proxy yet.

#include <chrono>
#include <cstddef>
#include <memory>

#include "headrace/base/result.h"
#include "headrace/io/http_message.h"
#include "headrace/io/http_parser.h"
#include "headrace/io/tls.h"

namespace headrace {

struct HttpClientOptions {
  /// Open connections to all servers together, idle ones included; a request beyond them waits for one.
  std::size_t max_connections = 64;
  /// For connecting and the TLS handshake, over all addresses of the host together.
  std::chrono::milliseconds connect_timeout{10'000};
  /// An idle connection older than this is closed rather than used: servers drop theirs, often unannounced.
  std::chrono::milliseconds idle_timeout{15'000};
  TlsOptions tls = TlsOptions();
  HttpLimits limits{};
};

/// Thread-safe: any number of threads may `perform` at once. Destroy it only when none does.
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
  /// \error kUnauthenticated     the server's certificate is not accepted
  /// \error kFailedPrecondition  the certificate authorities cannot be read
  /// \error kDataLoss            the answer is malformed or longer than there is room for
  /// \error kInvalidArgument     the request itself: a control character in method, target or a header field
  Result<HttpResponse> perform(const HttpRequest& request);

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace headrace
