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

/// Value of the first field of that name, which is compared without regard to case. None if there is no such
/// field.
std::optional<std::string_view> find_header(const HttpHeaders& headers, std::string_view name);

/// Parses "Fri, 21 Nov 2026 03:26:00 GMT" (IMF-fixdate, RFC 9110, section 5.6.7). None for any other form,
/// and for years before 1970 or after 2200.
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text);

/// The address at which a server listens.
struct HttpEndpoint {
  bool tls = true;
  std::string host;  // name or address, without brackets
  std::uint16_t port = 443;
  std::string base_path;  // empty, or begins but does not end with '/'; percent-encoded as given

  /// "https://host:port/base", for messages.
  std::string text() const;
  /// Value of the Host field. It contains the port only if that is not the default of the scheme.
  std::string host_field() const;
  /// Whether the host is a loopback address or "localhost".
  bool is_loopback() const;
  bool operator==(const HttpEndpoint&) const = default;
};

/// Parses "http://host", "https://host:port/base", "http://[::1]:9000". `tls_without_scheme` says whether
/// text without "://" means TLS.
/// \error kInvalidArgument  there is another scheme, user-info, a query or a fragment; or the host is
///                          missing, or the port is not a number
Result<HttpEndpoint> parse_http_endpoint(std::string_view text, bool tls_without_scheme = true);

struct HttpRequest {
  HttpEndpoint endpoint;
  std::string method = "GET";
  std::string target = "/";  // path and query, percent-encoded; `endpoint.base_path` is not added
  /// Must not contain Content-Length, Connection and Expect, which the client writes. The client also writes
  /// Host, unless `headers` contains it.
  HttpHeaders headers{};
  /// Borrowed until `perform` returns.
  BytesView body{};
  /// Unless this is empty, the body of a 2xx answer is read straight into this memory. Borrowed. It may also
  /// have been written to if the request fails.
  MutableBytesView target_memory{};
  /// Compute the CRC32C of the bytes in `target_memory`: HttpResponse::body_crc32c.
  bool with_crc32c = false;
  /// If the body is too large for `target_memory`, do not read it. This is no error, but closes the
  /// connection.
  bool leaves_longer_body = false;
  /// Largest body that is accepted outside of `target_memory`.
  std::uint64_t max_body_bytes = 16 << 20;
  /// Ask the server (Expect: 100-continue) before the body is sent.
  bool expect_continue = false;
  /// Sending the request twice does no harm. It may be sent once more if a kept connection turns out to be
  /// closed.
  bool repeatable = true;
  /// Longest time without progress. Progress is another 32 KiB, or the end of a phase (connected, request
  /// sent, head received).
  std::chrono::milliseconds stall_timeout{30'000};
  /// For this time after the start of the request, any byte of the answer's body counts as progress, because
  /// some servers send a byte now and then to show that they are still at work.
  std::chrono::milliseconds trickle_time{0};
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers{};
  /// Empty if the body went into `target_memory`.
  Bytes body{};
  /// Size of the body, wherever it went.
  std::uint64_t body_bytes = 0;
  /// The body did not fit, and HttpRequest::leaves_longer_body allows that. `body_bytes` is then 0.
  bool left_body = false;
  /// The CRC32C of a body that went into `target_memory`, if the request asks for it. Otherwise 0.
  std::uint32_t body_crc32c = 0;
  /// The TLS version of the connection: "TLSv1.3". Empty for a plain connection.
  std::string_view tls_version{};

  bool is_success() const { return status / 100 == 2; }
  std::optional<std::string_view> header(std::string_view name) const { return find_header(headers, name); }
};

}  // namespace headrace
