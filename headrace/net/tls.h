#pragma once

/// \file TLS for clients, by OpenSSL: version 1.2 or later. The certificate and the host name are verified.

#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/net/byte_stream.h"

namespace headrace {

struct TlsOptions {
  /// False: accept any certificate. Then anyone between client and server can read and change everything.
  bool verify = true;
  /// PEM file of certificate authorities to trust instead of the system's. Empty: trust the system's.
  std::string ca_file;
  /// PEM file with the client's own certificate, for servers that ask for one, followed by the certificates
  /// between it and an authority. Empty: the client has no certificate.
  std::string certificate_file{};
  /// PEM file with the key of that certificate. Empty: the key is also in `certificate_file`.
  std::string key_file{};
  /// Password of the key; a secret. Empty: the key is not encrypted.
  std::string key_password{};
};

/// State that all connections with the same options share. Thread-safe.
class TlsContext {
 public:
  /// \error kUnimplemented       on Windows: this build has no TLS
  /// \error kFailedPrecondition  `ca_file` cannot be read, or none of the places where systems keep their
  ///                             authorities; or the client's certificate or key cannot be read, or they do
  ///                             not belong together
  static Result<std::unique_ptr<TlsContext>> create(const TlsOptions& options);
  ~TlsContext();

  /// Opens a stream over a connected socket, before the handshake. `host` is sent as the server name, and the
  /// certificate must match it.
  /// \error kInvalidArgument    `host` is not a host name
  /// \error kResourceExhausted  OpenSSL has no memory left
  Result<std::unique_ptr<ByteStream>> open(FileDescriptor socket, const std::string& host) const;

 private:
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace
