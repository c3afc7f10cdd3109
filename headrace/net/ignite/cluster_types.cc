#include "headrace/net/ignite/cluster_types.h"

#include <utility>

namespace headrace::ignite {

BinaryTypes::Fetch fetch_from(std::shared_ptr<Cluster> cluster, std::stop_token stop) {
  return [cluster = std::move(cluster),
          stop = std::move(stop)](std::int32_t type_id) -> Result<std::optional<BinaryType>> {
    Bytes body;
    append_little_endian(body, type_id);
    HEADRACE_TRY(const Response response,
                 cluster->call(Operation::kBinaryTypeGet, body, Repeat::kSafe, {}, stop));
    return read_binary_type(response.body());
  };
}

Status register_type(Cluster& cluster, const BinaryType& type, const std::stop_token& stop) {
  Bytes body;
  append_binary_type(type, body);
  HEADRACE_CHECK(cluster.call(Operation::kBinaryTypePut, body, Repeat::kSafe, {}, stop));
  return {};
}

}  // namespace headrace::ignite
