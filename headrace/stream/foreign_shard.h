#pragma once

/// \file Finds TFRecord files and tars that Headrace did not publish, and makes their indexes in one pass.
/// Also makes the index of a shard that lost it.

#include <string>
#include <vector>

#include "headrace/stream/dataset.h"

namespace headrace {

struct ForeignObject {
  Location location;
  ObjectInfo object;
};

/// Finds the object at the location, or the objects below it, or those that match it as a pattern
/// (store/glob.h); ascending by key. Below a location or by a pattern, leaves out "X.index" if there is an
/// "X", and objects with a segment that begins with '.' or '_', below the location or the pattern's fixed
/// folder.
/// \error kNotFound         there are none
/// \error kInvalidArgument  the location is a published dataset; all of its splits would be read
Result<std::vector<ForeignObject>> find_foreign_objects(const Location& location, const CallOptions& call);

struct ForeignShard {
  DatasetShard shard;
  std::vector<ShardBlock> blocks;
  std::vector<std::string> remarks;  // about damage; for people
  std::vector<std::string> notes;    // about sound entries that are skipped; for people
};

/// The shard that an index describes.
ForeignShard foreign_shard(const ForeignObject& object, const ShardIndex& index);

/// Indexes an object: reads it once, and recognises its format by its first bytes. For a tar see tar_shard.h.
/// A compressed file with damage is one member. Under CorruptionPolicy::kFail damage is an error. Under the
/// other policies, a record with damaged data keeps its place. Bytes that cannot be divided into records take
/// the place of one record, and reading continues with the next sound header (find_next_record). If a
/// compressed file cannot be decompressed to the end, the records before the damage are used.
/// \error kDataLoss, kInvalidArgument  damaged, or neither a TFRecord file nor a tar
Result<ForeignShard> index_foreign_shard(const ForeignObject& object, CorruptionPolicy policy,
                                         const CallOptions& call);

/// Makes the index of a published shard again. It has the same members, hence the same order of records, as
/// the index that was published. `part` is the shard's part of the manifest. Memory: the shard as stored, at
/// most 256 MiB, and its largest member.
/// \error kDataLoss           the shard was altered, too, since it was published
/// \error kResourceExhausted  the shard is larger than 256 MiB
/// \error kNotFound           there is no shard
Result<ShardIndex> index_published_shard(const Location& shard, const ManifestPart& part,
                                         const CallOptions& call);

}  // namespace headrace
