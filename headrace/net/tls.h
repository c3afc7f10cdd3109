#pragma once

/// \file TLS of clients, by OpenSSL: version 1.2 or later, certificate and host name checked.

#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/net/byte_stream.h"

namespace headrace {

struct TlsOptions {
  /// False accepts any certificate: anyone between client and server can read and change everything.
  bool verify = true;
  /// PEM file of certificate authorities to trust instead of the system's.
  std::string ca_file;
  /// PEM file of the certificate that this client shows to servers that ask for one, then of those between it
  /// and an authority; empty: none is shown.
  std::string certificate_file{};
  /// PEM file of the key of that certificate; empty: the key is in `certificate_file`, too.
  std::string key_file{};
  /// Password of the key; a secret. Empty: the key is not encrypted.
  std::string key_password{};
};

/// State that all connections with the same options share. Thread-safe.
class TlsContext {
 public:
  /// \error kUnimplemented       on Windows: this build has no TLS
  /// \error kFailedPrecondition  `ca_file`, or every place where systems keep theirs, cannot be read; or
  ///                             the client's certificate or key cannot, or the two do not belong together
  static Result<std::unique_ptr<TlsContext>> create(const TlsOptions& options);
  ~TlsContext();

  /// Over a connected socket; hands are still to be shaken. `host` is sent as server name and checked against
  /// the certificate.
  /// \error kInvalidArgument  `host` is not a host name; kResourceExhausted
  Result<std::unique_ptr<ByteStream>> open(FileDescriptor socket, const std::string& host) const;

 private:
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace
