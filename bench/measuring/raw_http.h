#pragma once

/// \file The least that can move bytes over HTTP/1.1: what a client is measured against. One thread, a fixed
/// number of connections under poll(), requests that were signed before (presigned URLs), no retry, no
/// checks beyond the status. Fails as soon as anything is not as expected.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct RawServer {
  std::string host;  // an IPv4 address
  std::uint16_t port = 0;
  bool tls = false;
};

struct RawRequest {
  std::string head;           // with the empty line that ends it
  BytesView body{};           // sent after it
  MutableBytesView target{};  // what the body of the answer must fill; empty: an answer without a body
};

/// Keeps the connections of its first `run` for later ones.
class RawHttp {
 public:
  RawHttp(RawServer server, int connections);
  ~RawHttp();
  RawHttp(const RawHttp&) = delete;
  RawHttp& operator=(const RawHttp&) = delete;

  /// All requests, each on whichever connection is free next.
  Status run(const std::vector<RawRequest>& requests);

 private:
  struct Connection;
  Status connect(Connection& connection);
  const RawServer server_;
  void* tls_ = nullptr;  // SSL_CTX
  std::vector<Connection> connections_;
};

}  // namespace headrace
