#pragma once

/// \file A connection to one node: carries many requests at once; responses come in any order.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/connector.h"
#include "headrace/net/ignite/handshake.h"
#include "headrace/net/ignite/message.h"
#include "headrace/net/ignite/message_stream.h"

namespace headrace::ignite {

struct ConnectionOptions {
  Credentials credentials{};
  bool tls = false;
  /// The host name that the certificate must hold; empty: the address's own.
  std::string tls_name{};
  /// Covers the resolver, TLS and the handshake together, also those of a second attempt with another
  /// version, and those of the inquiry whether the node is of Ignite 3.
  std::chrono::milliseconds connect_timeout{10'000};
  /// The largest response; one that claims more ends the connection.
  std::size_t message_limit_bytes = std::size_t{512} << 20;
  /// Proposed first; the node may propose an older one instead.
  ProtocolVersion version = kNewestVersion;
};

/// Thread-safe. No thread of its own: of all that wait for responses, one reads for all of them.
class Connection {
 public:
  using Time = MessageStream::Time;

  /// Connects and shakes hands. `pool` gives the memory of responses.
  /// \error kUnavailable      no connection, another protocol on the port; the message says which
  /// \error kUnauthenticated  user or certificate are refused
  /// \error kUnimplemented    no common version
  /// \error kDeadlineExceeded, kCancelled
  static Result<std::shared_ptr<Connection>> open(Connector& connector, const Address& address,
                                                  const ConnectionOptions& options,
                                                  std::shared_ptr<BufferPool> pool,
                                                  const std::stop_token& stop = {});

  /// Queues a request and sends what the connection takes. Waits only while more than 64 MiB are queued.
  /// Returns its number, for `receive` or `abandon`, exactly one of which must follow.
  /// \error kInvalidArgument  the payload is larger than 2 GiB; nothing was queued
  /// \error kUnavailable, kDeadlineExceeded, kCancelled  nothing was queued
  Result<std::int64_t> send(Operation operation, BytesView payload, Time until,
                            const std::stop_token& stop = {});
  /// Waits until the response is there, for `receive` to take; after an error, too, `receive` or `abandon`
  /// must follow.
  /// \error kDeadlineExceeded, kCancelled, kUnavailable
  Status await(std::int64_t request, Time until, const std::stop_token& stop = {});
  /// Reads what has come, then waits until one of the responses is there. Returns its request: of several the
  /// one that comes first in `requests`. Errors as of `await`.
  Result<std::int64_t> await_any(const std::vector<std::int64_t>& requests, Time until,
                                 const std::stop_token& stop = {});
  /// As `await`. A node that sends nothing at all for `silence` has stalled: the connection ends, so that
  /// there is time to ask another.
  Status await_or_lose(std::int64_t request, Time until, std::chrono::milliseconds silence,
                       const std::stop_token& stop = {});
  /// Waits for the response.
  /// \error kUnavailable       the connection is lost, or the node is stopping: whether the request was
  ///                           carried out is unknown
  /// \error kDeadlineExceeded, kCancelled  the same; the response will be dropped
  /// \error others             the node refuses the request: a cache or cursor does not exist (kNotFound),
  ///                           the cluster is not active (kFailedPrecondition), rights are missing
  ///                           (kPermissionDenied), too many cursors (kResourceExhausted), another reason
  ///                           (kUnknown); the message has the node's words
  Result<Response> receive(std::int64_t request, Time until, const std::stop_token& stop = {});
  /// Drops the response when it comes.
  void abandon(std::int64_t request);

  const Agreement& agreement() const { return agreement_; }
  const Address& address() const { return address_; }
  /// The newest set of nodes that a response told of.
  TopologyVersion topology() const;
  bool is_lost() const;
  /// When the last bytes came; at first, when the connection was made.
  Time last_received() const;
  /// Ends the connection; all that wait get the reason, as kUnavailable.
  void lose(std::string_view why);

 private:
  struct Slot {
    bool is_abandoned = false;
    std::optional<Result<Response>> outcome{};
  };
  Connection(Address address, Agreement agreement, std::unique_ptr<MessageStream> stream);
  template <typename IsDone>
  Status wait(std::unique_lock<std::mutex>& lock, const IsDone& is_done, Time until,
              const std::stop_token& stop);
  bool receive_one(std::unique_lock<std::mutex>& lock);
  Result<std::optional<PooledBuffer>> try_receive();
  Status flush();
  Status advance(Time until);
  Status dispatch(PooledBuffer message);
  Result<Response> parse(PooledBuffer message, TopologyVersion& changed) const;
  void abandon_locked(std::int64_t request);
  void wake_all();
  void lose_locked(std::string_view why);

  const Address address_;
  const Agreement agreement_;
  const std::unique_ptr<MessageStream> stream_;  // used by whoever set is_driven_
  mutable std::mutex mutex_;
  std::condition_variable changed_{};
  bool is_driven_ = false;
  std::optional<Error> lost_{};
  std::int64_t next_request_ = 1;
  std::map<std::int64_t, Slot> slots_{};
  std::size_t abandoned_ = 0;
  std::deque<Bytes> queue_{};
  std::size_t queued_bytes_ = 0;
  TopologyVersion topology_{};
  Time last_received_ = std::chrono::steady_clock::now();
};

}  // namespace headrace::ignite
