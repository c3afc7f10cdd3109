#pragma once

/// \file Tars of WebDataset samples as shards: telling them from TFRecord files, and making their indexes.

#include <cstdint>
#include <functional>

#include "headrace/stream/foreign_shard.h"

namespace headrace {

/// By its first bytes; or, of tars from before 1988, by a name that ends with ".tar".
/// \error kInvalidArgument  a compressed tar: nothing in it can be read at random. Says what to do
Result<bool> is_tar_shard(const ForeignObject& object, const CallOptions& call);

/// Walks the headers of the tar, and reads little else where files are large. A record is the run of bytes
/// from a sample's first header to the next sample's; what comes before the first sample belongs to it. The
/// tar's links and devices are noted, sparse files remarked as damage is. Memory: some megabytes, and eight
/// bytes a sample.
///
/// Damage is an error under CorruptionPolicy::kFail. Else the headers between which it lies take the place of
/// one record, a hole: those of the sample before, which may have lost its last files, up to those of the
/// second sample behind, since the first file found there may go by the front of a long name and the next
/// ones lack it.
/// \error kDataLoss, kInvalidArgument  damaged, or no tar
Result<ForeignShard> index_tar_shard(const ForeignObject& object, CorruptionPolicy policy,
                                     const CallOptions& call);

/// Reads the tar twice: for its index, and then block by block. Calls `visit` with each sample as a
/// tf.Example until it returns false, `advance` with the bytes that were read the second time; `samples`
/// counts those visited.
/// \error  as index_tar_shard with CorruptionPolicy::kFail; kDataLoss: a sample that cannot be had
Status read_tar_samples(const ForeignObject& object, const CallOptions& call, std::uint64_t& samples,
                        const std::function<bool(BytesView record)>& visit,
                        const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
