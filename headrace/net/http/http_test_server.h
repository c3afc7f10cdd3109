#pragma once

/// \file A small HTTP server for tests, in the test's own process. It sends exactly the answers that the test
/// gives it, valid, broken or cut, over plain TCP or TLS. Not for production: it trusts its client.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "headrace/net/http/http_message.h"

namespace headrace {

struct TestHttpRequest {
  std::string method;
  std::string target;
  HttpHeaders headers;
  std::string body;
  int connection = 0;  // 0 for the first connection that the server accepted

  std::string header(std::string_view name) const {
    return std::string(find_header(headers, name).value_or(""));
  }
};

/// An answer of the server. The server sends `bytes` unchanged, at once or in pieces a millisecond apart.
/// Then it keeps the connection open, closes it, or resets it.
struct TestHttpReply {
  enum class Then { kKeep, kClose, kReset };
  std::string bytes;
  Then then = Then::kKeep;
  std::size_t piece_bytes = 0;  // 0: send all bytes at once
};

/// "HTTP/1.1 200 OK", the given header lines (each of which ends in "\r\n"), Content-Length and the body.
TestHttpReply test_reply(int status, std::string_view body = "", std::string_view header_lines = "");

/// A self-signed certificate and its key, both PEM.
struct TestCertificate {
  std::string certificate;
  std::string key;
};
/// `subject_alternative` has the form "DNS:localhost,IP:127.0.0.1". With a password, the key is encrypted.
TestCertificate make_test_certificate(const std::string& subject_alternative, bool expired = false,
                                      const std::string& key_password = "");

struct TestHttpServerOptions {
  std::optional<TestCertificate> tls{};
  bool only_tls_1_1 = false;
  /// The certificate that a client must show, in PEM. Empty: the client is not asked for one.
  std::string client_certificate{};
  bool ipv6 = false;
  /// Called before the body of a request with "Expect: 100-continue" is read. A reply is sent instead of the
  /// 100.
  std::function<std::optional<TestHttpReply>(const TestHttpRequest&)> before_body{};
};

/// Listens on 127.0.0.1 or ::1, at a port that the system chooses. Each connection has a thread, on which
/// `handler` runs.
class HttpTestServer {
 public:
  using Handler = std::function<TestHttpReply(const TestHttpRequest&)>;
  explicit HttpTestServer(Handler handler, TestHttpServerOptions options = {});
  /// Closes every connection and waits for its threads.
  ~HttpTestServer();

  /// http(s)://127.0.0.1:port, or http(s)://[::1]:port
  HttpEndpoint endpoint() const;
  int accepted_connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
