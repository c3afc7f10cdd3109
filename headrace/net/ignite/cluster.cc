#include "headrace/net/ignite/cluster.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::ignite {

using std::chrono::steady_clock;

namespace {

// How long requests wait for a connection to their own node before they go to another node.
constexpr std::chrono::milliseconds kRoutedConnectTimeout{1000};
// A node that does not answer costs at most 1 / kRetryCostFactor of the time.
constexpr int kRetryCostFactor = 10;

void prefer(const Address& address, std::vector<Address>& addresses) {
  std::erase(addresses, address);
  addresses.insert(addresses.begin(), address);
}

}  // namespace

// The right to open a connection. Thread-safe as the cluster is.
class Cluster::Turn {
 public:
  // Waits for the right until the time `until`, which may be in the past, unless `stop` is requested.
  Turn(Cluster& cluster, Time until, const std::stop_token& stop) : cluster_(cluster) {
    const std::stop_callback wake(stop, [&] {
      const std::scoped_lock lock(cluster_.mutex_);
      cluster_.opened_.notify_all();
    });
    std::unique_lock lock(cluster_.mutex_);
    cluster_.opened_.wait_until(lock, until, [&] { return !cluster_.is_opening_ || stop.stop_requested(); });
    is_mine_ = !cluster_.is_opening_;
    if (is_mine_) cluster_.is_opening_ = true;
  }
  ~Turn() {
    if (!is_mine_) return;
    const std::scoped_lock lock(cluster_.mutex_);
    cluster_.is_opening_ = false;
    cluster_.opened_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool is_mine() const { return is_mine_; }

 private:
  Cluster& cluster_;
  bool is_mine_ = false;
};

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)), connector_(options_.tls) {}

Result<std::shared_ptr<Cluster>> Cluster::connect(ClusterOptions options, const std::stop_token& stop) {
  if (options.addresses.empty())
    return Error{Code::kInvalidArgument, "no address of an Ignite node; give one, as host:port"};
  std::shared_ptr<Cluster> cluster(new Cluster(std::move(options)));
  HEADRACE_TRY(const std::shared_ptr<Connection> first, cluster->connection({}, stop));
  const bool tells_nodes = first->agreement().has(ProtocolFeature::kEndpoints);
  if (!tells_nodes || !cluster->options_.discover) {
    HEADRACE_CHECK(cluster->identify_all(first->address(), stop));
  }
  if (tells_nodes) {
    const Time until = steady_clock::now() + cluster->options_.call_timeout;
    HEADRACE_CHECK(cluster->learn_endpoints(*first, until, stop));
  }
  return cluster;
}

// Without discovery, only the given addresses that answer are known.
Status Cluster::identify_all(const Address& connected, const std::stop_token& stop) {
  for (const Address& address : options_.addresses) {
    if (address == connected) continue;
    Result<std::shared_ptr<Connection>> opened = open({address}, {}, stop);
    if (!opened && opened.error().code == Code::kCancelled) return std::move(opened).error();
  }
  return {};
}

// Sends a request that nodes answer at once: a node that sends nothing meanwhile has stalled.
Result<Response> Cluster::ask_soon(Connection& connection, Operation operation, BytesView body, Time until,
                                   const std::stop_token& stop) const {
  HEADRACE_TRY(const std::int64_t request, connection.send(operation, body, until, stop));
  if (Status awaited = connection.await_or_lose(request, until, options_.call_timeout / 3, stop); !awaited) {
    connection.abandon(request);
    return std::move(awaited).error();
  }
  return connection.receive(request, until, stop);
}

Status Cluster::learn_endpoints(Connection& connection, Time until, const std::stop_token& stop) {
  HEADRACE_TRY(const Response response, ask_soon(connection, Operation::kClusterGetEndpoints,
                                                 encode_endpoints_request(), until, stop));
  HEADRACE_TRY(const std::vector<NodeEndpoint> endpoints, parse_endpoints(response.body()));
  const std::scoped_lock lock(mutex_);
  std::map<NodeId, Node> nodes;
  for (const NodeEndpoint& endpoint : endpoints) {
    const auto known = nodes_.find(endpoint.id);
    Node node = known != nodes_.end()
                    ? std::move(known->second)
                    : Node{.backoff = Backoff(options_.backoff, options_.seed ^ nodes.size())};
    if (!options_.discover) {
      nodes.emplace(endpoint.id, std::move(node));
      continue;
    }
    // An address that the user gave is known to work from this machine.
    const auto given =
        std::ranges::find_if(endpoint.addresses, [&](const Address& address) { return is_given(address); });
    node.addresses = given != endpoint.addresses.end() ? std::vector<Address>{*given} : endpoint.addresses;
    if (node.worked) prefer(*node.worked, node.addresses);
    nodes.emplace(endpoint.id, std::move(node));
  }
  nodes_ = std::move(nodes);
  return {};
}

bool Cluster::is_given(const Address& address) const {
  return std::ranges::find(options_.addresses, address) != options_.addresses.end();
}

std::vector<NodeId> Cluster::nodes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<NodeId> ids;
  for (const auto& [id, node] : nodes_) ids.push_back(id);
  return ids;
}

std::optional<NodeId> Cluster::node_at(const Address& address) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, node] : nodes_)
    if (node.worked == address) return id;
  return std::nullopt;
}

// Returns the connection to the wanted node; without a wanted node, to any node.
std::shared_ptr<Connection> Cluster::connected(const std::optional<NodeId>& wanted) {
  const std::scoped_lock lock(mutex_);
  for (auto& [id, node] : nodes_) {
    if (node.connection && node.connection->is_lost()) {
      node.connection.reset();
      ++losses_;
    }
    if (node.connection && (!wanted || *wanted == id)) return node.connection;
  }
  return nullptr;
}

std::vector<Address> Cluster::to_try(const std::optional<NodeId>& wanted, Time now) {
  const std::scoped_lock lock(mutex_);
  if (wanted) {
    const auto node = nodes_.find(*wanted);
    if (node == nodes_.end() || node->second.retry_at > now) return {};
    return node->second.addresses;
  }
  std::vector<Address> addresses = options_.addresses;
  for (const auto& [id, node] : nodes_) {
    if (node.retry_at > now) continue;
    for (const Address& address : node.addresses)
      if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

void Cluster::keep(const std::shared_ptr<Connection>& connection) {
  const std::scoped_lock lock(mutex_);
  const NodeId id = connection->agreement().node;
  auto node = nodes_.find(id);
  if (node == nodes_.end())
    node =
        nodes_.emplace(id, Node{.backoff = Backoff(options_.backoff, options_.seed ^ nodes_.size())}).first;
  node->second.connection = connection;
  node->second.worked = connection->address();
  prefer(connection->address(), node->second.addresses);
  node->second.retry_at = {};
  node->second.backoff = Backoff(options_.backoff, options_.seed ^ nodes_.size());
}

// REQUIRES: the caller has the turn, or no other thread has the cluster yet
Result<std::shared_ptr<Connection>> Cluster::open(const std::vector<Address>& addresses,
                                                  const std::optional<NodeId>& wanted,
                                                  const std::stop_token& stop) {
  Error last{Code::kUnavailable, "no node of the Ignite cluster can be reached now"};
  std::optional<Error> refused;
  const Time begun = steady_clock::now();
  ConnectionOptions options = options_.connection;
  if (wanted) options.connect_timeout = std::min(options.connect_timeout, kRoutedConnectTimeout);
  for (const Address& address : addresses) {
    if (wanted && steady_clock::now() >= begun + options.connect_timeout) break;
    Result<std::shared_ptr<Connection>> opened = Connection::open(connector_, address, options, pool_, stop);
    if (opened) {
      keep(*opened);
      if (!wanted || (*opened)->agreement().node == *wanted) return opened;
      continue;  // another node now has this address
    }
    last = std::move(opened).error();
    if (last.code == Code::kCancelled) return last;
    if (last.code == Code::kDeadlineExceeded) last.code = Code::kUnavailable;
    if (last.code != Code::kUnauthenticated) continue;
    if (is_given(address)) refused = last;
    last.code = Code::kUnavailable;  // the certificate may lack the address that the node reports
  }
  const std::scoped_lock lock(mutex_);
  if (const auto node = wanted ? nodes_.find(*wanted) : nodes_.end(); node != nodes_.end())
    node->second.retry_at =
        steady_clock::now() + std::max<Time::duration>(node->second.backoff.next(),
                                                       kRetryCostFactor * (steady_clock::now() - begun));
  return refused ? *refused : last;
}

Result<std::shared_ptr<Connection>> Cluster::connection(const std::optional<NodeId>& node,
                                                        const std::stop_token& stop) {
  if (node) {
    if (std::shared_ptr<Connection> found = connected(node)) return found;
    // While another thread connects, requests go to other nodes.
    if (const Turn turn(*this, Time(), stop); turn.is_mine()) {
      const std::vector<Address> addresses = to_try(node, steady_clock::now());
      if (!addresses.empty()) {
        Result<std::shared_ptr<Connection>> opened = open(addresses, node, stop);
        if (opened || opened.error().code == Code::kCancelled) return opened;
      }
    }
  }
  if (std::shared_ptr<Connection> found = connected({})) return found;
  const Turn turn(*this, steady_clock::now() + options_.connection.connect_timeout, stop);
  if (stop.stop_requested()) return Error{Code::kCancelled, "stopped by the caller"};
  if (!turn.is_mine()) return Error{Code::kUnavailable, "other threads are still connecting to Ignite"};
  if (std::shared_ptr<Connection> found = connected({})) return found;
  return open(to_try({}, steady_clock::now()), {}, stop);
}

Error Cluster::outcome_of(Error error, Repeat repeat) const {
  if (repeat == Repeat::kSafe || error.code == Code::kCancelled) return error;
  if (error.code == Code::kUnavailable) error.code = Code::kUnknown;
  return {error.code, concat("whether the request was carried out is unknown; read before you repeat it: ",
                             error.message)};
}

Result<Response> Cluster::call(Operation operation, BytesView body, Repeat repeat,
                               const std::optional<NodeId>& node, const std::stop_token& stop,
                               std::optional<std::chrono::milliseconds> timeout) {
  HEADRACE_TRY(Answer answer, ask(operation, body, repeat, node, stop, timeout));
  return std::move(answer.response);
}

Result<Response> Cluster::call_owner(Operation operation, BytesView body, Repeat repeat,
                                     std::int32_t cache_id,
                                     const std::function<std::optional<NodeId>(const PartitionMap&)>& find,
                                     const std::stop_token& stop,
                                     std::optional<std::chrono::milliseconds> timeout) {
  const std::chrono::milliseconds time = timeout.value_or(options_.call_timeout);
  Patience patience{.until = steady_clock::now() + time};
  if (repeat == Repeat::kSafe) patience.silence = time / 3;
  const Result<std::shared_ptr<const PartitionMap>> map = partitions(cache_id, stop);
  // Without a map, any node can be asked, and its answer says what is wrong.
  const std::optional<NodeId> owner = map ? find(**map) : std::nullopt;
  HEADRACE_TRY(Answer answer, ask_patiently(operation, body, repeat, owner, patience, stop));
  return std::move(answer.response);
}

Result<Answer> Cluster::ask(Operation operation, BytesView body, Repeat repeat,
                            const std::optional<NodeId>& node, const std::stop_token& stop,
                            std::optional<std::chrono::milliseconds> timeout) {
  const Time until = steady_clock::now() + timeout.value_or(options_.call_timeout);
  return ask_patiently(operation, body, repeat, node, {.until = until}, stop);
}

Result<Answer> Cluster::ask_patiently(Operation operation, BytesView body, Repeat repeat,
                                      const std::optional<NodeId>& node, const Patience& patience,
                                      const std::stop_token& stop) {
  const Time begun = steady_clock::now();
  const Time until = patience.until;
  Backoff backoff(options_.backoff, options_.seed);
  Error last;
  while (true) {
    Result<std::shared_ptr<Connection>> opened = connection(node, stop);
    if (opened) {
      Connection& connection = **opened;
      const Result<std::int64_t> request = connection.send(operation, body, until, stop);
      // The connection of a stalled node is closed, and `receive` then returns an error.
      if (request && patience.silence)
        (void)connection.await_or_lose(*request, until, *patience.silence, stop);
      Result<Response> response =
          request ? connection.receive(*request, until, stop) : Result<Response>(request.error());
      if (response) return Answer{*std::move(response), *std::move(opened)};
      last = std::move(response).error();
      if (last.code == Code::kDeadlineExceeded && connection.last_received() < begun)
        connection.lose("it did not answer in time");
      const bool may_repeat = !request || repeat == Repeat::kSafe;
      if (last.code == Code::kDeadlineExceeded || (last.code == Code::kUnavailable && !may_repeat))
        return outcome_of(std::move(last), request ? repeat : Repeat::kSafe);
    } else {
      last = std::move(opened).error();
    }
    if (last.code != Code::kUnavailable) return last;
    if (steady_clock::now() >= until) return last;
    if (!sleep_unless_stopped(backoff.next(), stop)) return Error{Code::kCancelled, "stopped by the caller"};
  }
}

TopologyVersion Cluster::newest_topology() const {
  TopologyVersion newest;
  for (const auto& [id, node] : nodes_)
    if (node.connection) newest = std::max(newest, node.connection->topology());
  return newest;
}

std::shared_ptr<const PartitionMap> Cluster::fresh_map(std::int32_t cache_id) const {
  const std::scoped_lock lock(mutex_);
  const auto known = maps_.find(cache_id);
  if (known == maps_.end() || known->second.losses != losses_ ||
      known->second.map->version < newest_topology())
    return nullptr;
  return known->second.map;
}

// The list of nodes is read after the owners, so an owner that is lost in between is missing from it.
Result<PartitionMap> Cluster::read_map(Connection& connection, std::int32_t cache_id,
                                       const std::stop_token& stop) {
  const Time until = steady_clock::now() + options_.call_timeout;
  const Agreement& agreement = connection.agreement();
  HEADRACE_TRY(const Response response,
               ask_soon(connection, Operation::kCachePartitions,
                        encode_partitions_request(agreement, cache_id), until, stop));
  HEADRACE_TRY(PartitionMap map, parse_partitions(response.body(), agreement, cache_id));
  if (agreement.has(ProtocolFeature::kEndpoints)) {
    HEADRACE_CHECK(learn_endpoints(connection, until, stop));
    map.nodes = nodes();
  } else {
    map.nodes = map.owners_of({});
  }
  return map;
}

Result<std::shared_ptr<const PartitionMap>> Cluster::partitions(std::int32_t cache_id,
                                                                const std::stop_token& stop) {
  if (std::shared_ptr<const PartitionMap> known = fresh_map(cache_id)) return known;
  HEADRACE_TRY(const std::shared_ptr<Connection> asked, connection({}, stop));
  if (asked->agreement().version < kFlagsVersion) return std::make_shared<const PartitionMap>();
  std::uint64_t losses = 0;
  {
    const std::scoped_lock lock(mutex_);
    losses = losses_;
  }
  HEADRACE_TRY(PartitionMap map, read_map(*asked, cache_id, stop));
  const auto shared = std::make_shared<const PartitionMap>(std::move(map));
  const std::scoped_lock lock(mutex_);
  maps_.insert_or_assign(cache_id, KnownMap{shared, losses});
  return std::shared_ptr<const PartitionMap>(shared);
}

}  // namespace headrace::ignite
