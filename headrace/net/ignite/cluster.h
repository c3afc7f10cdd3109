#pragma once

/// \file A cluster of Ignite nodes: sends each request to the node that owns its data, and to another when
/// that one is away.
///
///   HEADRACE_TRY(const std::shared_ptr<Cluster> cluster, Cluster::connect({.addresses = {{"db-1"}}}, stop));
///   Cache reviews(cluster, "reviews");
///   HEADRACE_TRY(const std::optional<StoredObject> review, reviews.get(encode_long(7), stop));

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/backoff.h"
#include "headrace/net/connector.h"
#include "headrace/net/ignite/connection.h"
#include "headrace/net/ignite/partition_map.h"

namespace headrace::ignite {

struct ClusterOptions {
  /// Some of the nodes; the cluster tells of the others if `discover` is true.
  std::vector<Address> addresses{};
  /// False: only the given addresses are used, for nodes that lie behind a proxy or translated addresses.
  bool discover = true;
  ConnectionOptions connection{};
  TlsOptions tls{};
  /// Covers a request with all its repetitions.
  std::chrono::milliseconds call_timeout{30'000};
  BackoffOptions backoff{};
  /// For the jitter of waits.
  std::uint64_t seed = 1;
};

/// Whether a request may be sent again after its connection was lost, when nobody knows if it was carried
/// out.
enum class Repeat { kSafe, kUnsafe };

/// A response, and the connection that it came from: cursors live there.
struct Answer {
  Response response;
  std::shared_ptr<Connection> connection;
};

/// Thread-safe. Connects to a node when it first needs it, with at most one connection to each.
class Cluster {
 public:
  using Time = Connection::Time;

  /// Connects to the first address that answers, and learns the others' from it.
  /// \error kInvalidArgument  no address; otherwise as Connection::open; kUnauthenticated if one address
  /// refuses the user and none works
  static Result<std::shared_ptr<Cluster>> connect(ClusterOptions options, const std::stop_token& stop = {});

  /// Sends a request and waits for the response: to `node` if it is given and can be reached, otherwise to
  /// any. Repeats a safe one elsewhere after the loss of a connection, until `timeout`, else `call_timeout`.
  /// \error kUnknown  an unsafe request's connection was lost: the message says that the outcome is unknown
  /// \error others    as Connection::receive
  Result<Response> call(Operation operation, BytesView body, Repeat repeat,
                        const std::optional<NodeId>& node = {}, const std::stop_token& stop = {},
                        std::optional<std::chrono::milliseconds> timeout = {});
  /// The same, for a request that opens something at the node that answers.
  Result<Answer> ask(Operation operation, BytesView body, Repeat repeat,
                     const std::optional<NodeId>& node = {}, const std::stop_token& stop = {},
                     std::optional<std::chrono::milliseconds> timeout = {});

  /// The owners of a cache's partitions; asks again only once the nodes have changed.
  Result<std::shared_ptr<const PartitionMap>> partitions(std::int32_t cache_id,
                                                         const std::stop_token& stop = {});

  /// A connection to `node`, or to another that can be reached. One attempt, without repetition.
  Result<std::shared_ptr<Connection>> connection(const std::optional<NodeId>& node,
                                                 const std::stop_token& stop = {});

  const ClusterOptions& options() const { return options_; }
  /// The nodes that the cluster told of.
  std::vector<NodeId> nodes() const;

 private:
  struct Node {
    std::vector<Address> addresses{};  // in the order of trying
    std::optional<Address> worked{};   // the one that led to it last
    std::shared_ptr<Connection> connection{};
    Time retry_at{};
    Backoff backoff;
  };
  struct KnownMap {
    std::shared_ptr<const PartitionMap> map;
    std::uint64_t losses = 0;
  };

  explicit Cluster(ClusterOptions options);
  class Turn;
  std::shared_ptr<Connection> connected(const std::optional<NodeId>& node);
  std::vector<Address> to_try(const std::optional<NodeId>& node, Time now);
  Result<std::shared_ptr<Connection>> open(const std::vector<Address>& addresses,
                                           const std::optional<NodeId>& node, const std::stop_token& stop);
  bool is_given(const Address& address) const;
  void keep(const std::shared_ptr<Connection>& connection);
  Status learn_endpoints(Connection& connection, const std::stop_token& stop);
  Status identify_all(const Address& connected, const std::stop_token& stop);
  TopologyVersion newest_topology() const;
  std::shared_ptr<const PartitionMap> fresh_map(std::int32_t cache_id) const;
  Error outcome_of(Error error, Repeat repeat) const;

  const ClusterOptions options_;
  const std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  Connector connector_;
  mutable std::mutex mutex_;
  bool is_opening_ = false;  // one new connection at a time
  std::condition_variable opened_{};
  std::map<NodeId, Node> nodes_{};
  std::uint64_t losses_ = 0;  // of connections; after one, maps are read again
  std::map<std::int32_t, KnownMap> maps_{};
};

}  // namespace headrace::ignite
