#pragma once

/// \file A connection's bytes, plain or encrypted, without waiting.

#include <memory>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/socket.h"

namespace headrace {

/// Not thread-safe. Wait on `fd` after kWantRead and kWantWrite.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Call it until it is done, before anything else. Never returns kEnd or kFailed: those are errors here.
  /// \error kUnauthenticated  the other side is not the expected server; kUnavailable
  virtual Result<IoAttempt> try_handshake() { return IoAttempt{IoAttempt::State::kDone}; }
  virtual IoAttempt try_receive(MutableBytesView target) = 0;
  virtual IoAttempt try_send(BytesView data) = 0;
  virtual int fd() const = 0;
  /// Asks that waiting readers wake only when so many bytes, at least 1, or the end can be read. It is a
  /// hint, which saves wake-ups before large reads. It holds until the next call; at first it is 1.
  virtual void wake_for(std::size_t bytes) { (void)bytes; }
  /// "TLSv1.3"; empty in the clear.
  virtual std::string_view tls_version() const { return {}; }
};

/// Takes a connected socket.
std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket);

}  // namespace headrace
