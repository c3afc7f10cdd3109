#pragma once

/// \file A thread that waits for many connections at once, with Boost.Asio.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/listen_socket.h"
#include "headrace/cli/servers/serve/transport.h"

struct ssl_ctx_st;

namespace headrace {

/// A user that was made, before it has its transport.
struct NewUser {
  std::shared_ptr<TransportUser> user;
  std::function<void(std::unique_ptr<Transport>)> attach;
};

struct EventLoopOptions {
  std::chrono::milliseconds tick{1'000};
  std::size_t connections_max = 4096;
  /// Sent, without TLS, to a client for whom no place is free.
  std::string no_place_answer{};
  /// None: connections are without TLS. Asked for each new connection.
  std::function<std::shared_ptr<ssl_ctx_st>()> tls{};
  std::function<NewUser(std::string remote_address)> make_user{};
  std::function<void()> on_refused{};
  /// Called in the loop's thread soon after its users were called: once for all that the system reported
  /// together, but at least every 200 µs while they take longer.
  std::function<void()> on_round_end{};
};

/// Thread-safe. Destruction ends all connections and waits for the thread.
class EventLoop {
 public:
  /// \error kResourceExhausted  the system refuses a thread or a descriptor
  static Result<std::unique_ptr<EventLoop>> start(EventLoopOptions options);
  ~EventLoop();

  /// Accepts connections, and gives each to the loop that `choose` returns, which must outlive this one's
  /// listening.
  Status listen(ListenSocket socket, std::function<EventLoop&()> choose);
  /// Takes what the system has accepted, then closes the sockets that listen. Waits for that, and until
  /// connections that other loops gave to this one before are open. Not in the loop's thread.
  void stop_listening();
  /// Connections that are open, or on their way here.
  std::size_t connections() const;

 private:
  friend class AsioTransport;
  struct State;
  explicit EventLoop(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace headrace
