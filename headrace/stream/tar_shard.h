#pragma once

/// \file Recognises tars of WebDataset samples, and makes their indexes, so that they can be shards.

#include <cstdint>
#include <functional>

#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// True if the object is a tar: by its first bytes or, for formats older than POSIX (1988), by a name that
/// ends with ".tar". Cost: one read.
/// \error kInvalidArgument  a compressed tar, which does not allow random access; the message says what to do
Result<bool> is_tar_shard(const ForeignObject& object, const CallOptions& call);

/// Indexes a tar. Walks its headers, and reads little else if files are large. A record is the range of bytes
/// from a sample's first header to the next sample's first header; bytes before the first sample belong to
/// the first record. `notes` mention the tar's links and devices; `remarks` mention damage and sparse files.
/// Memory: some megabytes, and eight bytes per sample.
///
/// Under CorruptionPolicy::kFail damage is an error. Under the other policies, the samples around the damage
/// become one record, which is a hole. It begins with the sample before the damage, which may have lost its
/// last files. It ends with that sample if the first file after the damage belongs to the sample, too.
/// Otherwise it ends with the second sample after the damage: the first file found there may have lost the
/// beginning of a long name, and then the rest of its sample looks like another sample, which lacks the file.
/// \error kDataLoss, kInvalidArgument  damaged, or not a tar
Result<ForeignShard> index_tar_shard(const ForeignObject& object, CorruptionPolicy policy,
                                     const CallOptions& call);

/// Reads all samples of a tar. Reads the tar twice: for its index, and then block by block. Calls `visit`
/// with each sample as a tf.Example until it returns false, and `advance` with the number of bytes read in
/// the second pass. Counts the visited samples in `samples`.
/// \error kDataLoss  a sample is damaged
/// \error            as for `index_tar_shard` with CorruptionPolicy::kFail
Status read_tar_samples(const ForeignObject& object, const CallOptions& call, std::uint64_t& samples,
                        const std::function<bool(BytesView record)>& visit,
                        const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
