#pragma once

/// \file A connection to one node. It carries many requests at once; responses arrive in any order.

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
  /// The host name that the certificate must contain. Empty: the host of the address.
  std::string tls_name{};
  /// Limit for the resolver, TLS and the handshake together. It includes a second attempt with another
  /// version, and the check whether the node runs Ignite 3.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Size of the largest response. A response that claims more ends the connection.
  std::size_t message_limit_bytes = std::size_t{512} << 20;
  /// The version that is proposed first. The node may propose an older one instead.
  ProtocolVersion version = kNewestVersion;
};

/// Thread-safe. It has no thread of its own: among the threads that wait for responses, one reads for all.
class Connection {
 public:
  using Time = MessageStream::Time;

  /// Connects and makes the handshake. `pool` provides the memory for responses.
  /// \error kUnavailable       there is no connection, or the port speaks another protocol, which the message
  ///                           names if it is known
  /// \error kUnauthenticated   the user or the certificate is refused
  /// \error kUnimplemented     there is no common version, or the node runs Ignite 3
  /// \error kDeadlineExceeded  there was no connection within `connect_timeout`
  /// \error kCancelled         a stop was requested on `stop`
  static Result<std::shared_ptr<Connection>> open(Connector& connector, const Address& address,
                                                  const ConnectionOptions& options,
                                                  std::shared_ptr<BufferPool> pool,
                                                  const std::stop_token& stop = {});

  /// Queues a request, and sends as much as the connection takes. Blocks only while more than 64 MiB are
  /// queued. Returns the request's number. Exactly one call of `receive` or `abandon` must follow. After an
  /// error, nothing was queued.
  /// \error kInvalidArgument   the payload is larger than 2 GiB
  /// \error kUnavailable       the connection is lost
  /// \error kDeadlineExceeded  `until` has passed
  /// \error kCancelled         a stop was requested on `stop`
  Result<std::int64_t> send(Operation operation, BytesView payload, Time until,
                            const std::stop_token& stop = {});
  /// Waits until the response has arrived. Afterwards, even after an error, `receive` or `abandon` must
  /// follow.
  /// \error kUnavailable       the connection is lost
  /// \error kDeadlineExceeded  `until` has passed
  /// \error kCancelled         a stop was requested on `stop`
  Status await(std::int64_t request, Time until, const std::stop_token& stop = {});
  /// Reads the messages that have arrived, then waits until there is a response to one of `requests`. Returns
  /// the first such request in the order of `requests`.
  /// \error as for `await`
  Result<std::int64_t> await_any(const std::vector<std::int64_t>& requests, Time until,
                                 const std::stop_token& stop = {});
  /// As `await`. But a node that sends nothing at all for `silence` counts as stalled. Then the connection
  /// ends, so that there is time to ask another node.
  Status await_or_lose(std::int64_t request, Time until, std::chrono::milliseconds silence,
                       const std::stop_token& stop = {});
  /// Waits for the response. After one of the first three errors, it is unknown whether the request was
  /// carried out, and the response will be dropped. After the others, the node has refused the request, and
  /// the message contains the node's words.
  /// \error kUnavailable         the connection is lost, or the node is starting or stopping
  /// \error kDeadlineExceeded    `until` has passed
  /// \error kCancelled           a stop was requested on `stop`
  /// \error kNotFound            the cache or the cursor does not exist
  /// \error kAlreadyExists       the cache exists
  /// \error kFailedPrecondition  the cluster is not active
  /// \error kPermissionDenied    permissions are missing
  /// \error kUnauthenticated     the user is refused
  /// \error kResourceExhausted   there are too many cursors
  /// \error kUnimplemented       the node does not know the operation
  /// \error kUnknown             another reason
  Result<Response> receive(std::int64_t request, Time until, const std::stop_token& stop = {});
  /// Drops the response when it arrives.
  void abandon(std::int64_t request);

  const Agreement& agreement() const { return agreement_; }
  const Address& address() const { return address_; }
  /// The newest topology version that a response has reported.
  TopologyVersion topology() const;
  bool is_lost() const;
  /// When the last bytes arrived. Before that: when the connection was made.
  Time last_received() const;
  /// Ends the connection. All waiting threads get kUnavailable with the reason.
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
  const std::unique_ptr<MessageStream> stream_;  // used only by the thread that has set is_driven_
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
