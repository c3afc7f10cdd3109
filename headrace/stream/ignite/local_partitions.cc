#include "headrace/stream/ignite/local_partitions.h"

#include "headrace/base/text.h"

namespace headrace::ignite {
Result<std::vector<std::int32_t>> partitions_of_first_node(const Cache& cache, const std::stop_token& stop) {
  const Address& address = cache.cluster().options().addresses.front();
  const auto refuse = [&](Code code, std::string_view what) {
    return Error{code, concat("cache \"", printable_line(cache.name(), 200), "\": ", what)};
  };
  HEADRACE_CHECK(cache.backups(stop));  // fails if there is no such cache
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
                  concat("the node at ", address.text(), " owns no partition of this cache"));
  return own;
}

}  // namespace headrace::ignite
