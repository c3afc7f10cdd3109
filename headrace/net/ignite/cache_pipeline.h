#pragma once

/// \file Many requests to one cache at once, each to the node that owns its keys.
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

/// Not thread-safe; the cache's timeout holds for each response. The caller bounds how many requests are in
/// flight: each holds its bytes until its response is received, and each response those that it brought.
/// Destruction drops the responses that were not received.
class CachePipeline {
 public:
  explicit CachePipeline(Cache cache) : cache_(std::move(cache)) {}
  ~CachePipeline();
  CachePipeline(const CachePipeline&) = delete;
  CachePipeline& operator=(const CachePipeline&) = delete;

  /// Asks for a value. \error kCancelled
  Status get(BytesView key, const std::stop_token& stop);
  /// Puts the value that the pieces make, one after the other. \error kCancelled
  Status put(BytesView key, std::initializer_list<BytesView> value, const std::stop_token& stop);
  /// Any request that is safe to repeat: `body` follows the cache and the flags. \error kCancelled
  Status send(Operation operation, BytesView body, const std::optional<NodeId>& node,
              const std::stop_token& stop);

  /// From now on, for each response.
  void wait_at_most(std::chrono::milliseconds timeout) { cache_ = cache_.within(timeout); }

  std::size_t in_flight() const { return sent_.size(); }
  /// The response to the oldest request. After a lost connection, that request is sent again; a node that
  /// sends nothing for a third of the time has stalled, and its connection is lost.
  /// REQUIRES: in_flight() > 0
  /// \error as Cluster::call, with the cache's name
  Result<Response> receive(const std::stop_token& stop);
  /// The same, to a `get`; none: the key is not there.
  Result<std::optional<StoredObject>> receive_object(const std::stop_token& stop);

 private:
  struct Sent {
    Operation operation{};
    Bytes body{};
    std::optional<NodeId> node{};
    std::shared_ptr<Connection> connection{};  // null: it could not be sent yet
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
