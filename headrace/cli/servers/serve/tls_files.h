#pragma once

/// \file The certificate and key of a server, from files that may be replaced while it runs.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/http_server.h"

struct ssl_ctx_st;
struct ssl_st;

namespace headrace {

/// The current certificate and key. Thread-safe.
class TlsFiles {
 public:
  /// Reads the files.
  /// \error kFailedPrecondition  a file cannot be read; the key does not match the certificate; the
  ///                             certificate has expired or is not valid yet
  static Result<std::unique_ptr<TlsFiles>> open(const HttpServerTls& options);

  /// OpenSSL's SSL_CTX for a new connection: TLS 1.2 or later, ALPN http/1.1.
  std::shared_ptr<ssl_ctx_st> current() const;

  /// Reads the files again if they have changed. Returns a remark for the operator, or an empty text. An
  /// invalid pair is remarked on once, at the second look, because files are replaced one after the other.
  std::string look();

 private:
  using Identity = std::vector<std::uint64_t>;
  TlsFiles(const HttpServerTls& options, std::shared_ptr<ssl_ctx_st> context, Identity identity)
      : options_(options), context_(std::move(context)), used_(std::move(identity)) {}
  Identity identity() const;

  const HttpServerTls options_;
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;
  Identity used_;
  Identity wrong_;
  bool is_remarked_ = false;
};

/// The subject of the client's certificate, as RFC 2253 writes it; empty without one.
std::string client_subject(ssl_st* connection);

}  // namespace headrace
