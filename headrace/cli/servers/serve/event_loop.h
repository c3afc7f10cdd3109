#pragma once

/// \file A thread that serves many connections at once, with Boost.Asio.

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

/// A new user, which has no transport yet. The loop calls `attach` with it.
struct NewUser {
  std::shared_ptr<TransportUser> user;
  std::function<void(std::unique_ptr<Transport>)> attach;
};

struct EventLoopOptions {
  std::chrono::milliseconds tick{1'000};
  std::size_t connections_max = 4096;
  /// Sent, without TLS, to a client if there is no place for its connection.
  std::string no_place_answer{};
  /// Called for each new connection. Empty: connections are without TLS.
  std::function<std::shared_ptr<ssl_ctx_st>()> tls{};
  std::function<NewUser(std::string remote_address)> make_user{};
  std::function<void()> on_refused{};
  /// Called in the loop's thread soon after its users were called: once for all events that the system
  /// reported together, but at least every 200 µs while handling them takes longer.
  std::function<void()> on_round_end{};
};

/// A loop and its thread. Thread-safe. Destruction ends all connections and waits for the thread.
class EventLoop {
 public:
  /// Starts the thread.
  /// \error kResourceExhausted  the system refuses a thread or a descriptor
  static Result<std::unique_ptr<EventLoop>> start(EventLoopOptions options);
  ~EventLoop();

  /// Accepts connections, and gives each of them to the loop that `choose` returns. That loop must not end
  /// before this one stops listening.
  Status listen(ListenSocket socket, std::function<EventLoop&()> choose);
  /// Takes the connections that the system has already accepted, then closes the listening sockets. Waits for
  /// that, and until the connections that other loops gave to this one are open. Must not be called in the
  /// loop's thread.
  void stop_listening();
  /// Number of connections that are open, or are being handed to this loop.
  std::size_t connections() const;

 private:
  friend class AsioTransport;
  struct State;
  explicit EventLoop(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace headrace
