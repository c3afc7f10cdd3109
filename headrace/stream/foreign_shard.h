#pragma once

/// \file TFRecord files and tars that Headrace did not publish, and such as lost their index: finding them,
/// and making their indexes by one pass.

#include <string>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

struct ForeignObject {
  Location location;
  ObjectInfo object;
};

/// The object at the location, the objects below it, or those that match it as a pattern (store/glob.h); of
/// several, not those under "_headrace/", nor names that begin with '.' or '_'. Ascending by key.
/// \error kNotFound         there are none
/// \error kInvalidArgument  it is a published dataset, of which all splits would be read
Result<std::vector<ForeignObject>> find_foreign_shards(const Location& location, const CallOptions& call);

struct ForeignShard {
  DatasetShard shard;
  std::vector<ShardBlock> blocks;
  std::vector<std::string> remarks;  // about damage; for people
  std::vector<std::string> notes;    // about what is sound, but is passed over; for people
};

/// The shard that an index describes.
ForeignShard foreign_shard(const ForeignObject& object, const ShardIndex& index);

/// Reads the object once; what it is, is found out from its first bytes. A tar: see tar_shard.h. A compressed
/// file is one member.
/// Under CorruptionPolicy::kFail damage is an error. Else a record whose data are damaged keeps its place,
/// what cannot be told apart as records takes the place of one, and reading goes on with the next header that
/// is sound (find_next_record); of a compressed file that cannot be inflated, the records before are used.
/// \error kDataLoss, kInvalidArgument  damaged, or neither a TFRecord file nor a tar
Result<ForeignShard> index_foreign_shard(const ForeignObject& object, CorruptionPolicy policy,
                                         const CallOptions& call);

/// The index that was published with the shard that `part` names, made anew: the same members, hence the same
/// order of records. Memory: the shard as stored, at most 256 MiB, and its largest member.
/// \error kDataLoss           the shard, too, is not as it was published
/// \error kResourceExhausted  it is larger
/// \error kNotFound
Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call);

}  // namespace headrace
