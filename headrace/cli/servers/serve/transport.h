#pragma once

/// \file The bytes of one connection, apart from their meaning: the socket on one side, its user on the
/// other.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// The user of a transport. The transport calls it in the thread of its loop, and never from within a call to
/// the transport. The transport's loop keeps the user alive until the transport is closed, and during a call.
class TransportUser : public std::enable_shared_from_this<TransportUser> {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~TransportUser() = default;
  /// The connection can be used: TCP is connected and, with TLS, the handshake has succeeded.
  /// `client_subject`: empty without a client's certificate. If the handshake fails, `receive_ended` is
  /// called instead.
  virtual void opened(std::string client_subject) = 0;
  virtual void received(std::size_t bytes) = 0;
  /// No more bytes will arrive. `is_orderly`: the client said so, and may still read; false: the connection
  /// is broken.
  virtual void receive_ended(bool is_orderly) = 0;
  virtual void sent(std::size_t bytes) = 0;
  virtual void send_failed() = 0;
  /// Called regularly.
  virtual void tick(Clock::time_point now) = 0;
  /// Called after `Transport::wake`.
  virtual void woken() = 0;
  /// The server ends, or needs the place of this connection: close the transport now.
  virtual void abandon() = 0;
  /// Since when this has been waiting for a client that owes it nothing; none while a request is under way.
  virtual std::optional<Clock::time_point> idle_since() const = 0;
};

/// A connection. All functions must be called in the loop's thread, except `wake` and `is_own_thread`. Memory
/// that is passed to `receive` and `send` must stay valid until the user is called, or is destroyed.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Receives at least one byte. At most one call at a time.
  virtual void receive(MutableBytesView target) = 0;
  /// Sends as many bytes as the system takes at once, perhaps none; returns the number. Not while a `send` is
  /// under way.
  virtual std::size_t send_now(BytesView first, BytesView second) = 0;
  /// Sends at least one byte of the two parts. At most one call at a time.
  virtual void send(BytesView first, BytesView second) = 0;
  /// Tells the client that nothing more will be sent; receiving continues.
  virtual void end_sending() = 0;
  /// Closes the connection. The user is not called again. May be called twice.
  virtual void close() = 0;
  /// Has `woken` called soon. Returns false if the loop has ended. May be called from any thread. `user` must
  /// be this transport's.
  [[nodiscard]] virtual bool wake(std::shared_ptr<TransportUser> user) = 0;
  virtual bool is_own_thread() const = 0;
};

}  // namespace headrace
