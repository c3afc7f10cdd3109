#pragma once

/// \file TFRecord files and tars that Headrace did not publish, and shards that lost their index: finds them,
/// and makes their indexes in one pass.

#include <string>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

struct ForeignObject {
  Location location;
  ObjectInfo object;
};

/// The object at the location, the objects below it, or those that match it as a pattern (store/glob.h). If
/// there are several, leaves out those under "_headrace/" and names that begin with '.' or '_'. Ascending by
/// key.
/// \error kNotFound         there are none
/// \error kInvalidArgument  it is a published dataset, of which all splits would be read
Result<std::vector<ForeignObject>> find_foreign_objects(const Location& location, const CallOptions& call);

struct ForeignShard {
  DatasetShard shard;
  std::vector<ShardBlock> blocks;
  std::vector<std::string> remarks;  // about damage; for people
  std::vector<std::string> notes;    // about what is sound, but is passed over; for people
};

/// The shard that an index describes.
ForeignShard foreign_shard(const ForeignObject& object, const ShardIndex& index);

/// Reads the object once and recognises its format by its first bytes. For a tar see tar_shard.h. A
/// compressed file is one member.
/// Under CorruptionPolicy::kFail damage is an error. Otherwise a record whose data are damaged keeps its
/// place; bytes that cannot be divided into records take the place of one, and reading continues with the
/// next sound header (find_next_record); in a compressed file that cannot be inflated to the end, the records
/// before the damage are used.
/// \error kDataLoss, kInvalidArgument  damaged, or neither a TFRecord file nor a tar
Result<ForeignShard> index_foreign_shard(const ForeignObject& object, CorruptionPolicy policy,
                                         const CallOptions& call);

/// Makes again the index that was published with the shard that `part` names: the same members, hence the
/// same order of records. Memory: the shard as stored, at most 256 MiB, and its largest member.
/// \error kDataLoss           the shard, too, is not as it was published
/// \error kResourceExhausted  the shard is larger
/// \error kNotFound           there is no shard
Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call);

}  // namespace headrace
