#pragma once

/// \file One connection's bytes, apart from what they mean: the socket on one side, its user on the other.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// Called by a transport, in the thread of its loop, and never from within a call to the transport. The
/// transport's loop keeps the user alive until the transport is closed, and while a call is under way.
class TransportUser : public std::enable_shared_from_this<TransportUser> {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~TransportUser() = default;
  /// The connection can be used: TCP's, and with TLS the handshake has succeeded. `client_subject` is empty
  /// without a client's certificate. If the handshake fails, `receive_ended` comes instead.
  virtual void opened(std::string client_subject) = 0;
  virtual void received(std::size_t bytes) = 0;
  /// No more will come. `is_orderly`: the client said so, and may still read; otherwise the connection is
  /// broken.
  virtual void receive_ended(bool is_orderly) = 0;
  virtual void sent(std::size_t bytes) = 0;
  virtual void send_failed() = 0;
  /// Comes regularly.
  virtual void tick(Clock::time_point now) = 0;
  /// After `Transport::wake`.
  virtual void woken() = 0;
  /// The server ends, or needs the place: close the transport now.
  virtual void abandon() = 0;
  /// Since when it waits for a client that owes it nothing; none if a request is under way.
  virtual std::optional<Clock::time_point> idle_since() const = 0;
};

/// All functions belong to the loop's thread, except `wake` and `is_own_thread`. Memory that is given to
/// `receive` and `send` must stay until the user was called, or is destroyed.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Receives at least one byte. One at a time.
  virtual void receive(MutableBytesView target) = 0;
  /// Sends what the system takes at once, perhaps nothing. Not while a `send` is under way.
  virtual std::size_t send_now(BytesView first, BytesView second) = 0;
  /// Sends at least one byte of both. One at a time.
  virtual void send(BytesView first, BytesView second) = 0;
  /// Tells the client that nothing more will come; receiving goes on.
  virtual void end_sending() = 0;
  /// Ends all. The user is not called again. May be called twice.
  virtual void close() = 0;
  /// Has `woken` called soon. False: the loop has ended. Any thread; `user` is this transport's.
  [[nodiscard]] virtual bool wake(std::shared_ptr<TransportUser> user) = 0;
  virtual bool is_own_thread() const = 0;
};

}  // namespace headrace
