#pragma once

/// \file One object from any store to any store, and whether two objects are the same.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "headrace/os/buffer_pool.h"
#include "headrace/store/location.h"

namespace headrace {

struct ObjectTransferOptions {
  /// Of the target; its `call` bounds the reads as well.
  WriteOptions write{};
  /// Objects of more than kPieceBytes take two buffers of this size: one is filled while the other is
  /// written.
  std::size_t piece_bytes = 32 << 20;
  /// Where buffers come from; share it among transfers.
  std::shared_ptr<BufferPool> buffers = BufferPool::create();
  /// Read the copy again, and compare its CRC32C with what was read of the source.
  bool verify = false;
  /// Bytes that were copied, or found to be the same; negative where that begins again. From any thread; may
  /// be empty.
  std::function<void(std::int64_t)> advance{};
};

struct ObjectTransfer {
  /// The version that was copied. None: the store copied it itself, and the object changed about then, so it
  /// is one version, but not known which.
  std::optional<ObjectInfo> source{};
  ObjectInfo target{};
  /// Of what was read, which is what was written. None: the store copied it itself.
  std::optional<std::uint32_t> crc32c{};
};

/// Copies one version, whole: the one that `object` describes, or, if the object was replaced since, a later
/// one. Within one store that can (Capabilities::server_side_copy) no data pass through this process. What
/// was read is compared, before the target is there, with the checksum that the source's store keeps, if
/// `object` has it or `stat` tells it; of objects of up to `kPieceBytes`, without `verify`, as the store does
/// (ReadOptions::is_whole).
/// \error kFailedPrecondition  the object is changed again and again while it is read
/// \error kNotFound            it is no longer there
/// \error kDataLoss            what was read is not what the store keeps; or `verify`, and the copy differs
/// \error those of the target's `write`
Result<ObjectTransfer> transfer_object(const Location& from, const ObjectInfo& object, const Location& to,
                                       const ObjectTransferOptions& options);

/// Whether these versions hold the same bytes; reads both, up to the first difference.
/// \error those of `read_into`, with `if_version`
Result<bool> have_same_content(const Location& a, const ObjectInfo& of_a, const Location& b,
                               const ObjectInfo& of_b, const ObjectTransferOptions& options);

/// Do both lie in the same store?
bool is_same_store(const Location& a, const Location& b);

}  // namespace headrace
