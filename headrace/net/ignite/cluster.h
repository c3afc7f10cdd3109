#pragma once

/// \file A cluster of Ignite nodes. Sends each request to the node that owns its data, or to another node if
/// that node cannot be reached.
///
///   HEADRACE_TRY(const std::shared_ptr<Cluster> cluster, Cluster::connect({.addresses = {{"db-1"}}}, stop));
///   Cache reviews(cluster, "reviews");
///   HEADRACE_TRY(const std::optional<StoredObject> review, reviews.get(encode_long(7), stop));

#include <chrono>
#include <condition_variable>
#include <functional>
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
  /// Some of the nodes. If `discover` is true, the cluster reports the others.
  std::vector<Address> addresses{};
  /// False: use only the given addresses, because the nodes are behind a proxy or an address translation.
  bool discover = true;
  ConnectionOptions connection{};
  TlsOptions tls{};
  /// Limit for a request with all its retries.
  std::chrono::milliseconds call_timeout{30'000};
  BackoffOptions backoff{};
  /// Seed for the jitter of waits.
  std::uint64_t seed = 1;
};

/// Whether a request may be sent again after its connection was lost, when it is unknown whether the request
/// was carried out.
enum class Repeat { kSafe, kUnsafe };

/// A response, and the connection that it came from. Cursors belong to a connection.
struct Answer {
  Response response;
  std::shared_ptr<Connection> connection;
};

/// Thread-safe. Connects to a node when that is first needed, and keeps at most one connection to each node.
class Cluster {
 public:
  using Time = Connection::Time;

  /// Connects to the first address that answers, and learns the addresses of the other nodes from it.
  /// \error kInvalidArgument  `options` has no address
  /// \error kUnauthenticated  no address works, and one of them refuses the user or the certificate
  /// \error                   as for Connection::open
  static Result<std::shared_ptr<Cluster>> connect(ClusterOptions options, const std::stop_token& stop = {});

  /// Sends a request and waits for the response. The request goes to `node` if that is given and can be
  /// reached, otherwise to any node. If its connection is lost, a safe request is sent again, to any node.
  /// `timeout`, by default `call_timeout`, covers all attempts.
  /// \error kUnknown  the connection of an unsafe request was lost; the message says that the outcome is
  ///                  unknown
  /// \error           as for Connection::receive
  Result<Response> call(Operation operation, BytesView body, Repeat repeat,
                        const std::optional<NodeId>& node = {}, const std::stop_token& stop = {},
                        std::optional<std::chrono::milliseconds> timeout = {});
  /// As `call`, for a request that opens a cursor at the node that answers.
  Result<Answer> ask(Operation operation, BytesView body, Repeat repeat,
                     const std::optional<NodeId>& node = {}, const std::stop_token& stop = {},
                     std::optional<std::chrono::milliseconds> timeout = {});
  /// As `call`, but sends the request to the owner that `find` chooses in the cache's partition map. If there
  /// is no map, sends it to any node. The timeout also covers reading the map. Use it only for requests that
  /// nodes answer at once: a node that sends nothing for a third of the timeout counts as stalled, and a safe
  /// request is then sent elsewhere.
  Result<Response> call_owner(Operation operation, BytesView body, Repeat repeat, std::int32_t cache_id,
                              const std::function<std::optional<NodeId>(const PartitionMap&)>& find,
                              const std::stop_token& stop = {},
                              std::optional<std::chrono::milliseconds> timeout = {});

  /// The owners of a cache's partitions. The map is cached until the nodes change.
  Result<std::shared_ptr<const PartitionMap>> partitions(std::int32_t cache_id,
                                                         const std::stop_token& stop = {});

  /// A connection to `node`, or to another node if that one cannot be reached. Connects if necessary, in one
  /// attempt without retries.
  Result<std::shared_ptr<Connection>> connection(const std::optional<NodeId>& node,
                                                 const std::stop_token& stop = {});

  const ClusterOptions& options() const { return options_; }
  /// The nodes that are known so far.
  std::vector<NodeId> nodes() const;
  /// The node that last answered at this address. None: no node has.
  std::optional<NodeId> node_at(const Address& address) const;

 private:
  struct Node {
    std::vector<Address> addresses{};  // in the order in which they are tried
    std::optional<Address> worked{};   // the address that last worked
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
  struct Patience {
    Time until{};
    std::optional<std::chrono::milliseconds> silence{};  // after which a node counts as lost; none: never
  };
  Result<Answer> ask_patiently(Operation operation, BytesView body, Repeat repeat,
                               const std::optional<NodeId>& node, const Patience& patience,
                               const std::stop_token& stop);
  Result<Response> ask_soon(Connection& connection, Operation operation, BytesView body, Time until,
                            const std::stop_token& stop) const;
  Status learn_endpoints(Connection& connection, Time until, const std::stop_token& stop);
  Result<PartitionMap> read_map(Connection& connection, std::int32_t cache_id, const std::stop_token& stop);
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
  std::uint64_t losses_ = 0;  // number of lost connections; after each loss, maps are read again
  std::map<std::int32_t, KnownMap> maps_{};
};

}  // namespace headrace::ignite
