#pragma once

/// \file For tests: a scripted node that has a cache.

#include <map>
#include <utility>
#include <vector>

#include "headrace/net/ignite/scripted_node_test.h"

namespace headrace::ignite {

/// How many partitions each node owns. They are numbered consecutively, node after node.
using Owners = std::vector<std::pair<NodeId, std::int32_t>>;

/// The answer to a request for the owners of a cache's partitions.
inline Bytes map_of(std::int32_t cache, const Owners& owners, std::int64_t version = 1,
                    std::int32_t first = 0) {
  Bytes body;
  append_little_endian(body, version);
  append_little_endian(body, std::int32_t{0});
  append_little_endian(body, std::int32_t{1});  // one group
  append_little_endian(body, std::uint8_t{1});
  append_little_endian(body, std::int32_t{1});  // of one cache
  append_little_endian(body, cache);
  append_little_endian(body, std::int32_t{0});
  append_little_endian(body, static_cast<std::int32_t>(owners.size()));
  for (const auto& [node, partitions] : owners) {
    append_little_endian(body, TypeCode::kUuid);
    append_little_endian(body, node.high);
    append_little_endian(body, node.low);
    append_little_endian(body, partitions);
    for (std::int32_t i = 0; i < partitions; ++i) append_little_endian(body, first++);
  }
  return body;
}

/// Answers scans of one cache. Each partition is one page. Change the rows only between connections.
struct NodeWithCache {
  std::int32_t cache = 0;
  std::vector<std::vector<std::pair<Bytes, Bytes>>> partitions{};  // keys and values
  std::vector<std::int32_t> scanned{};                             // in the order of the requests

  Bytes answer_to(const ScriptedRequest& request) {
    if (request.operation == Operation::kCacheGetConfiguration) return Bytes(12);
    if (request.operation == Operation::kCachePartitions)
      return map_of(cache, {{NodeId{1, 1}, static_cast<std::int32_t>(partitions.size())}});
    if (request.operation != Operation::kQueryScan) return {};
    const auto partition = load_little_endian<std::int32_t>(request.body.data() + 10);
    scanned.push_back(partition);
    const auto& rows = partitions.at(static_cast<std::size_t>(partition));
    Bytes body;
    append_little_endian(body, std::int64_t{7});  // the cursor
    append_little_endian(body, static_cast<std::int32_t>(rows.size()));
    for (const auto& [key, value] : rows) {
      append(body, key);
      append(body, value);
    }
    append_little_endian(body, std::uint8_t{0});  // no more pages
    return body;
  }
  void serve(Peer& peer) {
    peer.accept_handshake();
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request())
      peer.answer(request.number, answer_to(request));
  }
};

}  // namespace headrace::ignite
