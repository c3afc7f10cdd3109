#pragma once

/// \file Messages of HTTP/1.1 (RFC 9110, RFC 9112): endpoints, header fields, requests and responses.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct HttpHeader {
  std::string name;
  std::string value;
};
using HttpHeaders = std::vector<HttpHeader>;

/// Value of the first field of that name, in any case; none if there is no such field.
std::optional<std::string_view> find_header(const HttpHeaders& headers, std::string_view name);

/// "Fri, 21 Nov 2026 03:26:00 GMT" (IMF-fixdate, RFC 9110, section 5.6.7); none for any other form, and
/// for years before 1970 or after 2200.
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text);

/// Where a server listens.
struct HttpEndpoint {
  bool tls = true;
  std::string host;  // name or address, without brackets
  std::uint16_t port = 443;
  std::string base_path;  // empty, or begins with '/' and does not end with it; percent-encoded as given

  /// "https://host:port/base", for messages.
  std::string text() const;
  /// Value of the Host field: the port only where it is not the scheme's own.
  std::string host_field() const;
  /// The host is an address of this machine or "localhost".
  bool is_loopback() const;
  bool operator==(const HttpEndpoint&) const = default;
};

/// "http://host", "https://host:port/base", "http://[::1]:9000". Text without "://" gets
/// `tls_without_scheme`.
/// \error kInvalidArgument  another scheme, user-info, query or fragment, no host, no port number
Result<HttpEndpoint> parse_http_endpoint(std::string_view text, bool tls_without_scheme = true);

struct HttpRequest {
  HttpEndpoint endpoint;
  std::string method = "GET";
  std::string target = "/";  // path and query, percent-encoded; `endpoint.base_path` is not added
  /// Without Host, Content-Length, Connection and Expect, which the client writes, unless `headers` has a
  /// Host.
  HttpHeaders headers{};
  /// Borrowed until `perform` returns.
  BytesView body{};
  /// The body of a 2xx answer is read straight into this memory, if it is not empty. Borrowed. On an error it
  /// may have been written to.
  MutableBytesView target_memory{};
  /// Compute the checksum of the bytes that go there: HttpResponse::body_crc32c.
  bool with_crc32c = false;
  /// If the body is too large for that memory, leave it and close the connection, without an error.
  bool leaves_longer_body = false;
  /// Longest body that is accepted outside of `target_memory`.
  std::uint64_t max_body_bytes = 16 << 20;
  /// Ask the server first (Expect: 100-continue) before the body is sent.
  bool expect_continue = false;
  /// Whether sending the request twice does no harm: it may be repeated once if a kept connection turns out
  /// to be closed.
  bool repeatable = true;
  /// Longest time without progress: 32 KiB, or the end of a phase (connected, request sent, head received).
  std::chrono::milliseconds stall_timeout{30'000};
  /// For so long after the request, any byte of the answer's body counts as progress: some servers send a
  /// byte now and then to show that they still work.
  std::chrono::milliseconds trickle_time{0};
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers{};
  /// Empty if the body went into `target_memory`.
  Bytes body{};
  /// Length of the body, wherever it went.
  std::uint64_t body_bytes = 0;
  /// The body did not fit, as HttpRequest::leaves_longer_body allows; `body_bytes` is 0.
  bool left_body = false;
  /// The checksum of a body that went into `target_memory`, if the request asks for it; else 0.
  std::uint32_t body_crc32c = 0;
  /// The TLS version of the connection: "TLSv1.3"; empty in the clear.
  std::string_view tls_version{};

  bool is_success() const { return status / 100 == 2; }
  std::optional<std::string_view> header(std::string_view name) const { return find_header(headers, name); }
};

}  // namespace headrace
