#include "headrace/stream/ignite/partition_rows.h"

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

Bytes encode_request(std::int32_t cache_id, const std::vector<BytesView>& keys) {
  Bytes body;
  append_little_endian(body, cache_id);
  append_little_endian(body, std::uint8_t{0});  // no flags
  append_little_endian(body, static_cast<std::int32_t>(keys.size()));
  for (const BytesView key : keys) append(body, key);
  return body;
}

Result<PartitionRows> parse_response(Response response) {
  ObjectCursor cursor(response.body());
  std::size_t count = 0;
  if (!cursor.read_count(2, count)) return malformed("the number of entries");
  PartitionRows found;
  found.rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    HEADRACE_TRY(const BytesView key, take_object(cursor));
    HEADRACE_TRY(const BytesView value, take_object(cursor));
    if (value.front() != static_cast<std::byte>(TypeCode::kNull)) found.rows.push_back({key, value});
  }
  found.response = std::move(response);
  return found;
}

Result<PartitionRows> ask(const Cache& cache, std::int32_t partition, const std::vector<BytesView>& keys,
                          const std::stop_token& stop) {
  HEADRACE_TRY(Response response,
               cache.cluster().call_owner(
                   Operation::kCacheGetAll, encode_request(cache.id(), keys), Repeat::kSafe, cache.id(),
                   [&](const PartitionMap& map) { return map.owner_of(partition); }, stop));
  return parse_response(std::move(response));
}

}  // namespace

Result<PartitionRows> get_partition_rows(const Cache& cache, std::int32_t partition,
                                         const std::vector<BytesView>& keys, const std::stop_token& stop) {
  Result<PartitionRows> found = ask(cache, partition, keys, stop);
  if (found) return found;
  const std::string where = partition < 0 ? "" : concat(", partition ", partition);
  return std::move(found).error().in(concat("cache \"", printable_line(cache.name(), 200), '"', where));
}

Result<std::vector<std::int32_t>> partitions_of_first_node(const Cache& cache, const std::stop_token& stop) {
  const Address& address = cache.cluster().options().addresses.front();
  const auto refuse = [&](Code code, std::string_view what) {
    return Error{code, concat("cache \"", printable_line(cache.name(), 200), "\": ", what)};
  };
  Cache asked = cache;
  HEADRACE_CHECK(asked.backups(stop));  // fails if there is no such cache
  HEADRACE_TRY(const std::shared_ptr<const PartitionMap> map, cache.cluster().partitions(cache.id(), stop));
  if (map->owners.empty())
    return refuse(Code::kInvalidArgument, "it is replicated, so no node has partitions of its own");
  const std::optional<NodeId> node = cache.cluster().node_at(address);
  if (!node) return refuse(Code::kUnavailable, concat("the node at ", address.text(), " does not answer"));
  std::vector<std::int32_t> own;
  for (std::int32_t i = 0; i < map->partitions(); ++i)
    if (map->owner_of(i) == node) own.push_back(i);
  if (own.empty())
    return refuse(Code::kFailedPrecondition,
                  concat("the node at ", address.text(), " owns no partition of it"));
  return own;
}

}  // namespace headrace::ignite
