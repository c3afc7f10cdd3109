#include <algorithm>
#include <cstdlib>

#include "headrace/net/ignite/affinity.h"
#include "headrace/net/ignite/object_size.h"
#include "headrace/net/ignite/partition_map.h"
#include "headrace/net/ignite/sql.h"

namespace headrace::ignite {
namespace {

/// A handshake's reply, and the map of a cache and the nodes as the node would tell them to that agreement.
void check_replies(BytesView input) {
  const Result<HandshakeReply> reply = parse_handshake_reply(input, kNewestVersion);
  if (reply && reply->agreement && reply->agreement->features.size() > input.size()) std::abort();
  Agreement agreement{.version = kNewestVersion};
  for (const std::byte features : {std::byte{0}, std::byte{0xff}}) {
    agreement.features = Bytes(2, features);
    const Result<PartitionMap> map = parse_partitions(input, agreement, 7);
    if (map && map->partitions() > 0 && !map->owner_of(0) && map->owners[0] != NodeId{}) std::abort();
  }
  const Result<std::vector<NodeEndpoint>> nodes = parse_endpoints(input);
  if (nodes && nodes->size() > input.size()) std::abort();
}

/// A key has a partition within the map, or none.
void check_key(BytesView input) {
  const std::optional<std::int32_t> hash = key_hash(input);
  if (!hash) return;
  for (const std::int32_t partitions : {1, 1000, 1024}) {
    const std::int32_t partition = partition_of_hash(*hash, partitions);
    if (partition < 0 || partition >= partitions) std::abort();
  }
}

/// A page of SQL gives as many rows as it says, which lie in it.
void check_sql_page(BytesView input) {
  static const std::shared_ptr<BufferPool> pool = BufferPool::create();
  for (const std::size_t columns : {0U, 1U, 3U}) {
    Response response{.buffer = pool->take(input.size())};
    std::ranges::copy(input, response.buffer.bytes().begin());
    ObjectCursor cursor(response.body());
    Result<SqlPage> page = SqlPage::read(std::move(response), cursor, columns);
    if (!page) continue;
    std::size_t rows = 0;
    std::size_t bytes = sizeof(std::int32_t);
    for (std::vector<BytesView> row; page->next(row); ++rows) {
      if (row.size() != columns) std::abort();
      for (const BytesView object : row) bytes += object.size();
    }
    if (rows != page->row_count() || bytes != cursor.position()) std::abort();
  }
}

}  // namespace
}  // namespace headrace::ignite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  ignite::check_replies(input);
  ignite::check_key(input);
  ignite::check_sql_page(input);
  (void)ignite::describe_other_protocol(input);
  return 0;
}
