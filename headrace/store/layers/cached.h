#pragma once

/// \file A store that keeps the ranges it reads in another store that is near: a folder on a local disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

struct CacheOptions {
  /// Limit for everything that the cache keeps in the folder, for all stores. One process never exceeds it;
  /// each further process that writes there at the same time may exceed it by a twentieth, or by the ranges
  /// that it is writing.
  std::uint64_t max_bytes = std::uint64_t{100} << 30;
};

/// A cache as users name it: a folder's URL and its maximum size, "file:///mnt/nvme/cache?max=200GiB".
struct CacheUrl {
  std::string folder;
  CacheOptions options;
};
/// \error kInvalidArgument  anything but "max=" and a valid size after the "?"
Result<CacheUrl> parse_cache_url(std::string_view text);

/// A view of `store` that keeps the reads of a **given version** (ReadOptions::if_version) below `folder`,
/// one object for each range: when the same range of the same version is read again, it comes from there.
/// Other reads, and all other calls, pass through: data that may change are never taken from the cache.
///
/// Processes may share a folder, and other files may lie in it: only objects that the cache itself can have
/// written, `headrace-cache/<2>/<62 hexadecimal digits>` below the folder and unfinished writes beside it,
/// are ever counted or removed. Kept ranges are written atomically and carry a checksum, so a killed process
/// leaves nothing wrong; damaged ones are removed and fetched again. Nothing is synced: after a power failure
/// the cache may have lost the latest ranges. When the cache is full, ranges chosen at random are removed: a
/// program that repeatedly reads more than fits still finds a part of it (about a fifth, if half of it fits).
/// Ranges larger than a quarter of the limit are not kept. A folder that cannot be written or read costs
/// time, but is never an error. A forked child must not use its parent's stores, but may make its own for the
/// same folder.
///
/// Layout of a kept object: object's size (8 bytes, little-endian), CRC32C of that and of the data (4), the
/// data.
std::unique_ptr<Store> make_cached(std::shared_ptr<Store> store, Location folder,
                                   const CacheOptions& options);

/// The same place, through `make_cached`.
Location make_cached(Location location, Location folder, const CacheOptions& options);

}  // namespace headrace
