#pragma once

/// \file The owners of a cache's partitions.

#include <cstdint>
#include <optional>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/handshake.h"
#include "headrace/net/ignite/message.h"

namespace headrace::ignite {

struct PartitionMap {
  TopologyVersion version{};
  /// The primary owner of each partition. Empty: the cache is replicated, or the node does not report owners,
  /// so that only the cache as a whole can be read.
  std::vector<NodeId> owners{};
  /// The nodes that were in the cluster just after the owners were read, in any order. If the cluster does
  /// not report its nodes: the owners.
  std::vector<NodeId> nodes{};
  /// Whether `partition_of_hash` gives the partition of a key.
  bool is_hashed = false;

  /// The owners of the chosen partitions, each once. If `chosen` is empty: the owners of all partitions.
  std::vector<NodeId> owners_of(const std::vector<std::int32_t>& chosen) const;
  std::int32_t partitions() const { return static_cast<std::int32_t>(owners.size()); }
  /// The owner of an encoded key. None: it is unknown.
  std::optional<NodeId> owner_of_key(BytesView key) const;
  /// The owner of a partition. None: it is unknown.
  std::optional<NodeId> owner_of(std::int32_t partition) const;
};

/// The body of a request for the map of one cache.
Bytes encode_partitions_request(const Agreement& agreement, std::int32_t cache_id);
/// Parses the response to that request. Does not set `nodes`.
/// \error kDataLoss  the response is malformed
Result<PartitionMap> parse_partitions(BytesView body, const Agreement& agreement, std::int32_t cache_id);

/// A node, and the addresses at which clients reach it.
struct NodeEndpoint {
  NodeId id{};
  std::vector<Address> addresses{};
};

/// The body of a request for all nodes.
Bytes encode_endpoints_request();
/// Parses the response to that request.
/// \error kDataLoss  the response is malformed
Result<std::vector<NodeEndpoint>> parse_endpoints(BytesView body);

}  // namespace headrace::ignite
