#pragma once

/// \file The bytes of a connection, plain or encrypted. Non-blocking.

#include <memory>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/socket.h"

namespace headrace {

/// Not thread-safe. No function blocks: after kWantRead or kWantWrite, wait on `fd` and call again.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Call it until it returns kDone, before any other function. Never returns kEnd or kFailed.
  /// \error kUnauthenticated  the other side is not the expected server
  /// \error kUnavailable      the connection failed or was closed
  virtual Result<IoAttempt> try_handshake() { return IoAttempt{IoAttempt::State::kDone}; }
  virtual IoAttempt try_receive(MutableBytesView target) = 0;
  virtual IoAttempt try_send(BytesView data) = 0;
  virtual int fd() const = 0;
  /// A hint that saves wake-ups before large reads: waiting readers should wake only when `bytes` bytes, at
  /// least 1, or the end can be read. Holds until the next call; at first, the number is 1.
  virtual void wake_for(std::size_t bytes) { (void)bytes; }
  /// "TLSv1.3"; empty for a plain connection.
  virtual std::string_view tls_version() const { return {}; }
};

/// A plain stream over a connected socket, which it owns.
std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket);

}  // namespace headrace
