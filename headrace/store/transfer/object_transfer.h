#pragma once

/// \file Copies one object from any store to any store, and compares two objects.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "headrace/os/buffer_pool.h"
#include "headrace/store/location.h"

namespace headrace {

struct ObjectTransferOptions {
  /// Options for writing the target. Their `call` applies to the reads as well.
  WriteOptions write{};
  /// Objects of more than kPieceBytes take two buffers of this size: one is filled while the other is
  /// written.
  std::size_t piece_bytes = 32 << 20;
  /// The pool that provides the buffers. Share it among transfers.
  std::shared_ptr<BufferPool> buffers = BufferPool::create();
  /// Read the copy again, and compare its CRC32C with that of the source's bytes.
  bool verify = false;
  /// Called with the number of bytes that were copied or found to be the same since the last call. Negative
  /// if those bytes no longer count, because the copy failed or starts again. Called from any thread. May be
  /// empty.
  std::function<void(std::int64_t)> advance{};
};

struct ObjectTransfer {
  /// The version that was copied. None: the store made the copy itself, and the object changed at about that
  /// time. The copy is then one version, but it is not known which.
  std::optional<ObjectInfo> source{};
  ObjectInfo target{};
  /// CRC32C of the bytes that were read and written. None: the store made the copy itself.
  std::optional<std::uint32_t> crc32c{};
};

/// Copies one version of an object, whole: the version that `object` describes or, if the object was
/// replaced since, a later one. Within one store that supports it (Capabilities::server_side_copy), no data
/// pass through this process.
///
/// Before the target appears, the bytes read are compared with the checksum that the source's store keeps,
/// if `object` has it or `stat` returns it. For objects of up to `kPieceBytes`, without `verify`, the store
/// of the source makes that comparison (ReadOptions::is_whole).
/// \error kFailedPrecondition  the object keeps changing while it is read
/// \error kNotFound            the object no longer exists
/// \error kDataLoss            the bytes read do not match the store's checksum; or `verify` is set, and the
///                             copy differs
/// \error                      as for Store::write at the target
Result<ObjectTransfer> transfer_object(const Location& from, const ObjectInfo& object, const Location& to,
                                       const ObjectTransferOptions& options);

/// Whether these versions hold the same bytes. Cost: none if their sizes differ; otherwise reads both, up to
/// the first piece that differs.
/// \error as for `read_exactly` with `if_version`
Result<bool> have_same_content(const Location& a, const ObjectInfo& of_a, const Location& b,
                               const ObjectInfo& of_b, const ObjectTransferOptions& options);

/// Whether both lie in the same store, judged by the scheme and authority of their URLs. The queries of the
/// URLs are options of the connection and do not count.
bool is_same_store(const Location& a, const Location& b);

/// Whether the store copies the object itself, so that its bytes do not pass through this process. It must be
/// the same store, reached in the same way.
bool copies_inside(const Location& from, const Location& to);

}  // namespace headrace
