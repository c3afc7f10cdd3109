#pragma once

/// \file Connections to servers: resolves the name, tries its addresses in turn, passes a proxy's tunnel, and
/// makes the TLS handshake. Every protocol uses this.
///
///   Connector connector({.ca_file = "/etc/db/ca.pem"});
///   HEADRACE_TRY(const std::unique_ptr<ByteStream> stream,
///                connector.connect({.host = "db-1", .port = 5432, .tls_name = "db-1"}, stop));
///
/// `Connector::connect` blocks. To drive many sockets on one thread, use a `ConnectAttempt` for each
/// connection instead, which never blocks.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/byte_stream.h"
#include "headrace/net/host_addresses.h"
#include "headrace/net/poller.h"
#include "headrace/net/socket.h"
#include "headrace/net/tls.h"

namespace headrace {

/// A conversation over a connected socket before the socket leads to the server, for example with a proxy.
/// Never blocks.
class Tunnel {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State {
    kWaiting,  // wait for `interest`, at most until `wake_at`
    kOpen,
    kLost,     // failed with `error`; the next address is tried
    kRefused,  // failed with `error`; no other address is tried
  };
  virtual ~Tunnel() = default;
  /// Continues until the conversation is over or would have to wait.
  virtual State advance(bool readable, Time now) = 0;
  virtual Poller::Interest interest() const = 0;
  virtual Time wake_at() const = 0;
  /// Why the tunnel failed. REQUIRES: the state is kLost or kRefused.
  virtual Error error() const = 0;
};

/// The server that a connection should lead to, and how to reach it.
struct ConnectTarget {
  std::string host;  // name or address, without brackets
  std::uint16_t port = 0;
  /// Names the server in "cannot connect to …"; empty: "host:port".
  std::string description{};
  /// The host name that the server's certificate must contain. None: no TLS.
  std::optional<std::string> tls_name{};
  /// Limit for the resolver, all addresses, the tunnel and the handshake together.
  std::chrono::milliseconds timeout{10'000};
  /// Begins a tunnel over each connected socket, of which it gets a second descriptor. Null: no tunnel.
  std::function<std::unique_ptr<Tunnel>(FileDescriptor socket, Tunnel::Time now)> begin_tunnel{};
};

/// State that connections with the same TLS options share: known addresses, certificate authorities, and the
/// client's own certificate. Thread-safe.
class Connector {
 public:
  explicit Connector(TlsOptions tls = TlsOptions(), HostAddresses::Resolve resolver = resolve);

  /// Connects, and blocks until the connection is ready for use.
  /// \error kUnavailable         no address answers or completes the handshake, or the tunnel failed
  /// \error kDeadlineExceeded    the connection was not ready within `target.timeout`
  /// \error kCancelled           a stop was requested on `stop`
  /// \error kUnauthenticated     the server's certificate is not accepted
  /// \error kFailedPrecondition  certificate authorities or the client's certificate cannot be read
  /// \error kInvalidArgument     `target.tls_name` is not a host name
  /// \error kResourceExhausted   the system has no descriptor or memory left
  Result<std::unique_ptr<ByteStream>> connect(const ConnectTarget& target, const std::stop_token& stop = {});

  HostAddresses& addresses() { return addresses_; }
  /// Created on first use, because plain connections need no certificate authorities. Lives as long as the
  /// connector.
  /// \error as for TlsContext::create
  Result<const TlsContext*> tls_context();

 private:
  const TlsOptions tls_options_;
  HostAddresses addresses_;
  std::mutex tls_mutex_;
  std::unique_ptr<TlsContext> tls_;
};

/// A connection that is being made. Not thread-safe. Borrows the connector and the poller, which must stay in
/// place.
class ConnectAttempt {
 public:
  using Time = Tunnel::Time;

  /// `poller` reports the events of this attempt with `tag`.
  ConnectAttempt(Connector& connector, ConnectTarget target, Poller& poller, std::uint64_t tag);
  /// Abandons the attempt if it is not over.
  ~ConnectAttempt();
  ConnectAttempt(const ConnectAttempt&) = delete;
  ConnectAttempt& operator=(const ConnectAttempt&) = delete;

  /// Continues until the attempt is over, or until the caller must wait with the poller, at most until
  /// `wake_at`. `readable`: the poller reported the attempt's socket as readable.
  void advance(bool readable, Time now);
  bool is_over() const { return outcome_.has_value(); }
  Time wake_at() const;

  /// The outcome. The poller no longer watches the socket. REQUIRES: the attempt is over.
  /// \error as for Connector::connect, except kCancelled
  Result<std::unique_ptr<ByteStream>> take_stream() { return *std::move(outcome_); }

 private:
  enum class Stage { kResolving, kConnecting, kTunnelling, kShakingHands };
  using GoOn = bool;

  GoOn find_addresses(Time now);
  GoOn try_next_address(Time now);
  GoOn not_within_time(std::string_view what, Time now);
  GoOn finish_connecting(Time now);
  GoOn begin_tunnel(Time now);
  GoOn pass_tunnel(bool readable, Time now);
  GoOn open_stream();
  GoOn shake_hands(Time now);
  GoOn finish(Result<std::unique_ptr<ByteStream>> outcome);
  GoOn wait_for(int fd, Poller::Interest interest);
  void stop_watching();

  Connector& connector_;
  const ConnectTarget target_;
  Poller& poller_;
  const std::uint64_t tag_;
  Stage stage_ = Stage::kResolving;
  const Time until_;  // limit for the whole attempt
  Time resolve_again_at_{};
  std::vector<SocketAddress> addresses_{};
  std::size_t next_address_ = 0;
  Time address_until_{};
  FileDescriptor socket_{};  // while it connects, and in a tunnel
  std::unique_ptr<Tunnel> tunnel_{};
  std::unique_ptr<ByteStream> stream_{};  // during the handshake
  Error last_{Code::kUnavailable, "no address"};
  int watched_ = -1;
  Poller::Interest interest_{};
  std::optional<Result<std::unique_ptr<ByteStream>>> outcome_{};
};

}  // namespace headrace
