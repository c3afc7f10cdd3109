#pragma once

/// \file Tars of WebDataset samples as shards: recognises them, and makes their indexes.

#include <cstdint>
#include <functional>

#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// Decided by the first bytes or, for tars from before 1988, by a name that ends with ".tar".
/// \error kInvalidArgument  a compressed tar, which does not allow random access; says what to do
Result<bool> is_tar_shard(const ForeignObject& object, const CallOptions& call);

/// Walks the headers of the tar, and reads little else if files are large. A record is the range of bytes
/// from a sample's first header to the next sample's; bytes before the first sample belong to it. The tar's
/// links and devices go to `notes`, sparse files to `remarks` like damage. Memory: some megabytes, and eight
/// bytes per sample.
///
/// Damage is an error under CorruptionPolicy::kFail. Otherwise the headers around the damage take the place
/// of one record, a hole: from the sample before, which may have lost its last files, up to the second sample
/// behind, because the first file found there may have lost the front of a long name, and the next files
/// would lack it.
/// \error kDataLoss, kInvalidArgument  damaged, or not a tar
Result<ForeignShard> index_tar_shard(const ForeignObject& object, CorruptionPolicy policy,
                                     const CallOptions& call);

/// Reads the tar twice: for its index, and then block by block. Calls `visit` with each sample as a
/// tf.Example until it returns false, and `advance` with the bytes read the second time; `samples` counts the
/// visited ones.
/// \error kDataLoss  a sample that is damaged
/// \error as index_tar_shard with CorruptionPolicy::kFail
Status read_tar_samples(const ForeignObject& object, const CallOptions& call, std::uint64_t& samples,
                        const std::function<bool(BytesView record)>& visit,
                        const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
