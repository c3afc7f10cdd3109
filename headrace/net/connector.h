#pragma once

/// \file Connections to servers: resolves the name, tries its addresses in turn, passes a proxy's tunnel, and
/// shakes hands where there is TLS. Every protocol uses this.
///
///   Connector connector({.ca_file = "/etc/db/ca.pem"});
///   HEADRACE_TRY(const std::unique_ptr<ByteStream> stream,
///                connector.connect({.host = "db-1", .port = 5432, .tls_name = "db-1"}, stop));
///
/// `Connector::connect` waits. To drive many sockets on one thread, use a `ConnectAttempt` for each
/// connection instead, which never waits.

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

/// A conversation over a connected socket, for example with a proxy, before it leads to the server. It never
/// waits.
class Tunnel {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State {
    kWaiting,  // for `interest`, until `wake_at` at most
    kOpen,
    kLost,     // because of `error`; another address may be luckier
    kRefused,  // because of `error`; no other address is tried
  };
  virtual ~Tunnel() = default;
  /// Continues until it is over or would have to wait.
  virtual State advance(bool readable, Time now) = 0;
  virtual Poller::Interest interest() const = 0;
  virtual Time wake_at() const = 0;
  /// Why it is lost or refused. REQUIRES: it is
  virtual Error error() const = 0;
};

/// The server that a connection should lead to, and the way to it.
struct ConnectTarget {
  std::string host;  // name or address, without brackets
  std::uint16_t port = 0;
  /// Names the server in "cannot connect to …"; empty: "host:port".
  std::string description{};
  /// The host name that the server's certificate must hold; none: no TLS.
  std::optional<std::string> tls_name{};
  /// Covers the resolver, every address, the tunnel and the handshake together.
  std::chrono::milliseconds timeout{10'000};
  /// Gets a second descriptor of each connected socket; null: no tunnel.
  std::function<std::unique_ptr<Tunnel>(FileDescriptor socket, Tunnel::Time now)> begin_tunnel{};
};

/// State that connections with the same TLS options share: known addresses, certificate authorities, the
/// client's own certificate. Thread-safe.
class Connector {
 public:
  explicit Connector(TlsOptions tls = TlsOptions(), HostAddresses::Resolve resolver = resolve);

  /// Waits until the connection is ready for use.
  /// \error kUnavailable         no address answers, or none shakes hands; the tunnel failed
  /// \error kDeadlineExceeded    not within `target.timeout`
  /// \error kCancelled           `stop` was requested
  /// \error kUnauthenticated     the server's certificate is not accepted
  /// \error kFailedPrecondition  certificate authorities or the client's certificate cannot be read
  /// \error kInvalidArgument     `target.tls_name` is not a host name
  /// \error kResourceExhausted   the system has no descriptor or memory left
  Result<std::unique_ptr<ByteStream>> connect(const ConnectTarget& target, const std::stop_token& stop = {});

  HostAddresses& addresses() { return addresses_; }
  /// Created on first use: plain connections need no certificate authorities.
  Result<const TlsContext*> tls_context();

 private:
  const TlsOptions tls_options_;
  HostAddresses addresses_;
  std::mutex tls_mutex_;
  std::unique_ptr<TlsContext> tls_;
};

/// A connection that is being made. Not thread-safe. Borrows connector and poller, which must stay in place.
class ConnectAttempt {
 public:
  using Time = Tunnel::Time;

  /// `poller` reports the events of this attempt with `tag`.
  ConnectAttempt(Connector& connector, ConnectTarget target, Poller& poller, std::uint64_t tag);
  /// Gives up if the attempt is not over.
  ~ConnectAttempt();
  ConnectAttempt(const ConnectAttempt&) = delete;
  ConnectAttempt& operator=(const ConnectAttempt&) = delete;

  /// Continues until it is over, or until the caller must wait with the poller, at most until `wake_at`.
  void advance(bool readable, Time now);
  bool is_over() const { return outcome_.has_value(); }
  Time wake_at() const;

  /// The outcome; the poller no longer watches the socket. REQUIRES: it is over. \error as
  /// Connector::connect, except kCancelled
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
  const Time until_;  // for all together
  Time resolve_again_at_{};
  std::vector<SocketAddress> addresses_{};
  std::size_t next_address_ = 0;
  Time address_until_{};
  FileDescriptor socket_{};  // while it connects, and in a tunnel
  std::unique_ptr<Tunnel> tunnel_{};
  std::unique_ptr<ByteStream> stream_{};  // while hands are shaken
  Error last_{Code::kUnavailable, "no address"};
  int watched_ = -1;
  Poller::Interest interest_{};
  std::optional<Result<std::unique_ptr<ByteStream>>> outcome_{};
};

}  // namespace headrace
