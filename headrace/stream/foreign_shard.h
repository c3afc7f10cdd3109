#pragma once

/// \file TFRecord files that Headrace did not publish, and such as lost their index: finding them, and making
/// their indexes by one pass.

#include <string>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

/// The object at the location, or the objects below it, but for those under "_headrace/" and names that begin
/// with
/// '.' or '_'. Ascending by key.
/// \error kNotFound  there are none
Result<std::vector<ObjectInfo>> find_foreign_shards(const Location& location, const CallOptions& call);

/// Reads the object once. Its compression is found out from its first bytes. A compressed one is one member.
/// Damage ends its records there, or is an error, as the policy says.
/// \error kDataLoss, kInvalidArgument  damaged, or no TFRecord file
struct ForeignShard {
  DatasetShard shard;
  std::vector<ShardBlock> blocks;
};
Result<ForeignShard> index_foreign_shard(const Location& folder, const ObjectInfo& object,
                                         CorruptionPolicy policy, const CallOptions& call,
                                         std::vector<std::string>& remarks);

/// The index that was published with the shard that `part` names, made anew: the same members, hence the same
/// order of records. Memory: the shard as stored, at most 256 MiB, and its largest member.
/// \error kDataLoss           the shard, too, is not as it was published
/// \error kResourceExhausted  it is larger
/// \error kNotFound
Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call);

}  // namespace headrace
