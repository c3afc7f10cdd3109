#pragma once

/// \file Which node owns which partition of a cache.

#include <cstdint>
#include <optional>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/handshake.h"
#include "headrace/net/ignite/message.h"

namespace headrace::ignite {

struct PartitionMap {
  TopologyVersion version{};
  /// The primary owner of each partition; empty: the cache is replicated, or the node tells no owners, and
  /// only the cache as a whole can be read.
  std::vector<NodeId> owners{};
  /// The nodes that were in the cluster once the owners were known; of a cluster that does not tell, the
  /// owners. In any order.
  std::vector<NodeId> nodes{};
  /// A key's partition is a function of its hash, as `partition_of_hash` says.
  bool is_hashed = false;

  /// The owners of these partitions, each once; empty: of all.
  std::vector<NodeId> owners_of(const std::vector<std::int32_t>& chosen) const;
  std::int32_t partitions() const { return static_cast<std::int32_t>(owners.size()); }
  /// The owner of an encoded key, if that can be told.
  std::optional<NodeId> owner_of_key(BytesView key) const;
  /// None: no owner is known.
  std::optional<NodeId> owner_of(std::int32_t partition) const;
};

/// The body of a request for the map of one cache.
Bytes encode_partitions_request(const Agreement& agreement, std::int32_t cache_id);
/// \error kDataLoss
Result<PartitionMap> parse_partitions(BytesView body, const Agreement& agreement, std::int32_t cache_id);

/// A node, and where clients reach it.
struct NodeEndpoint {
  NodeId id{};
  std::vector<Address> addresses{};
};

/// The body of a request for all nodes.
Bytes encode_endpoints_request();
/// \error kDataLoss
Result<std::vector<NodeEndpoint>> parse_endpoints(BytesView body);

}  // namespace headrace::ignite
