#include "headrace/net/ignite/partition_map.h"

#include <algorithm>

#include "headrace/net/ignite/affinity.h"

namespace headrace::ignite {
namespace {

// Ignite's own limit: CacheConfiguration.MAX_PARTITIONS_COUNT.
constexpr std::int32_t kPartitionsLimit = 65'000;

// A group of caches that share an assignment of partitions.
struct Group {
  bool has_owners = false;
  bool has_cache = false;
  bool has_affinity_fields = false;  // a field of the cache's keys decides their partition
  bool is_default = true;
  std::vector<NodeId> owners{};
};

bool read_caches(ObjectCursor& cursor, std::int32_t cache_id, Group& group) {
  std::size_t caches = 0;
  if (!cursor.read_count(4, caches)) return false;
  for (std::size_t i = 0; i < caches; ++i) {
    std::int32_t id = 0;
    std::size_t fields = 0;
    if (!cursor.read(id)) return false;
    if (group.has_owners && (!cursor.read_count(8, fields) || !cursor.skip(8 * fields))) return false;
    if (id != cache_id) continue;
    group.has_cache = true;
    group.has_affinity_fields = fields > 0;
  }
  return true;
}

bool read_owners(ObjectCursor& cursor, std::vector<NodeId>& owners) {
  std::size_t nodes = 0;
  if (!cursor.read_count(21, nodes)) return false;
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeId node;
    std::size_t count = 0;
    if (!read_node_id(cursor, node) || !cursor.read_count(4, count)) return false;
    for (std::size_t j = 0; j < count; ++j) {
      std::int32_t partition = 0;
      if (!cursor.read(partition) || partition < 0 || partition >= kPartitionsLimit) return false;
      const auto index = static_cast<std::size_t>(partition);
      if (index >= owners.size()) owners.resize(index + 1);
      owners[index] = node;
    }
  }
  return true;
}

bool read_group(ObjectCursor& cursor, const Agreement& agreement, std::int32_t cache_id, Group& group) {
  std::uint8_t flag = 0;
  if (!cursor.read(flag)) return false;
  group.has_owners = flag != 0;
  if (!read_caches(cursor, cache_id, group)) return false;
  if (!group.has_owners) return true;
  if (!read_owners(cursor, group.owners)) return false;
  if (!agreement.has(ProtocolFeature::kAllAffinityMappings)) return true;
  if (!cursor.read(flag)) return false;
  group.is_default = flag != 0;
  return true;
}

bool read_endpoint(ObjectCursor& cursor, NodeEndpoint& endpoint) {
  std::int32_t port = 0;
  std::size_t count = 0;
  if (!cursor.read(endpoint.id.high) || !cursor.read(endpoint.id.low) || !cursor.read(port) || port < 1 ||
      port > 65'535 || !cursor.read_count(1, count))
    return false;
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<std::string> host;
    if (!read_text(cursor, host)) return false;
    if (host && !host->empty())
      endpoint.addresses.push_back({.host = *host, .port = static_cast<std::uint16_t>(port)});
  }
  return true;
}

}  // namespace

std::optional<NodeId> PartitionMap::owner_of(std::int32_t partition) const {
  if (partition < 0 || partition >= partitions()) return std::nullopt;
  const NodeId owner = owners[static_cast<std::size_t>(partition)];
  if (owner == NodeId()) return std::nullopt;
  return owner;
}

std::vector<NodeId> PartitionMap::owners_of(const std::vector<std::int32_t>& chosen) const {
  std::vector<NodeId> found;
  if (chosen.empty()) found = owners;
  for (const std::int32_t partition : chosen)
    if (const std::optional<NodeId> owner = owner_of(partition)) found.push_back(*owner);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase(found, NodeId());
  return found;
}

std::optional<NodeId> PartitionMap::owner_of_key(BytesView key) const {
  if (!is_hashed || owners.empty()) return std::nullopt;
  const std::optional<std::int32_t> hash = key_hash(key);
  if (!hash) return std::nullopt;
  return owner_of(partition_of_hash(*hash, partitions()));
}

Bytes encode_partitions_request(const Agreement& agreement, std::int32_t cache_id) {
  Bytes body;
  if (agreement.has(ProtocolFeature::kAllAffinityMappings)) append_little_endian(body, std::uint8_t{1});
  append_little_endian(body, std::int32_t{1});
  append_little_endian(body, cache_id);
  return body;
}

Result<PartitionMap> parse_partitions(BytesView body, const Agreement& agreement, std::int32_t cache_id) {
  ObjectCursor cursor(body);
  PartitionMap map;
  std::size_t groups = 0;
  if (!cursor.read(map.version.major) || !cursor.read(map.version.minor) || !cursor.read_count(5, groups))
    return malformed("the owners of partitions");
  for (std::size_t i = 0; i < groups; ++i) {
    Group group;
    if (!read_group(cursor, agreement, cache_id, group)) return malformed("the owners of partitions");
    if (!group.has_cache) continue;
    map.owners = std::move(group.owners);
    map.is_hashed = group.is_default && !group.has_affinity_fields;
  }
  return map;
}

Bytes encode_endpoints_request() {
  Bytes body;
  append_little_endian(body, std::int64_t{-1});  // from the beginning
  append_little_endian(body, std::int64_t{-1});  // to now
  return body;
}

Result<std::vector<NodeEndpoint>> parse_endpoints(BytesView body) {
  ObjectCursor cursor(body);
  std::int64_t version = 0;
  std::size_t count = 0;
  if (!cursor.read(version) || !cursor.read_count(24, count)) return malformed("the list of nodes");
  std::vector<NodeEndpoint> endpoints(count);
  for (NodeEndpoint& endpoint : endpoints)
    if (!read_endpoint(cursor, endpoint)) return malformed("a node's addresses");
  return endpoints;
}

}  // namespace headrace::ignite
