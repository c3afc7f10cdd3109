#pragma once

/// \file Sends many requests to one cache at once, each to the node that owns its keys.
///
///   CachePipeline chunks(cache);
///   for (const Bytes& key : keys) {
///     if (chunks.in_flight() == 16) HEADRACE_TRY(const Response oldest, chunks.receive(stop));
///     HEADRACE_CHECK(chunks.get(key, stop));
///   }
///   while (chunks.in_flight() > 0) ...

#include <chrono>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>

#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {

/// Not thread-safe. The cache's timeout applies to each response. The caller must limit the number of
/// requests in flight: each request keeps its bytes until its response is received, and each response keeps
/// its own. Destruction drops the responses that were not received.
class CachePipeline {
 public:
  explicit CachePipeline(Cache cache) : cache_(std::move(cache)) {}
  ~CachePipeline();
  CachePipeline(const CachePipeline&) = delete;
  CachePipeline& operator=(const CachePipeline&) = delete;

  /// Requests a value. Blocks only to connect, or while 64 MiB of requests are unsent.
  /// \error kCancelled        a stop was requested on `stop`
  /// \error kInvalidArgument  the request is larger than 2 GiB
  Status get(BytesView key, const std::stop_token& stop);
  /// Puts a value, which is the concatenation of the pieces. Blocks and fails as `get` does.
  Status put(BytesView key, std::initializer_list<BytesView> value, const std::stop_token& stop);
  /// Sends any request that is safe to repeat. In the request, `body` follows the cache's id and the flags.
  /// None as `node`: any node. Blocks and fails as `get` does.
  Status send(Operation operation, BytesView body, const std::optional<NodeId>& node,
              const std::stop_token& stop);

  /// Sets the timeout for each response from now on.
  void wait_at_most(std::chrono::milliseconds timeout) { cache_ = cache_.within(timeout); }

  std::size_t in_flight() const { return sent_.size(); }
  /// Waits for the response to the oldest request. If its connection was lost, the request is sent again. A
  /// node that sends nothing for a third of the timeout counts as stalled, and its connection as lost.
  /// REQUIRES: in_flight() > 0.
  /// \error as for Cluster::call; the message names the cache
  Result<Response> receive(const std::stop_token& stop);
  /// As `receive`, for the response to a `get`. None: the key does not exist.
  Result<std::optional<StoredObject>> receive_object(const std::stop_token& stop);

 private:
  struct Sent {
    Operation operation{};
    Bytes body{};
    std::optional<NodeId> node{};
    std::shared_ptr<Connection> connection{};  // null: the request could not be sent yet
    std::int64_t request = 0;
    Connection::Time begun{};
  };
  std::chrono::milliseconds timeout() const;
  Connection::Time deadline() const;
  Status send_body(Operation operation, Bytes body, const std::optional<NodeId>& node,
                   const std::stop_token& stop);
  Result<Response> receive_first(Sent& sent, const std::stop_token& stop);

  Cache cache_;
  std::deque<Sent> sent_{};
};

}  // namespace headrace::ignite
