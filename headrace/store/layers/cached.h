#pragma once

/// \file A store that caches the ranges that it reads in a store nearby, such as a folder on a local disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

struct CacheOptions {
  /// Limit for everything that the cache keeps in the folder, for all stores together. One process never
  /// exceeds it. Each further process that writes there at the same time may exceed it by a twentieth, or by
  /// the ranges that it is writing.
  std::uint64_t max_bytes = std::uint64_t{100} << 30;
};

/// A cache as users name it: the URL of a folder and a maximum size, "file:///mnt/nvme/cache?max=200GiB".
struct CacheUrl {
  std::string folder;
  CacheOptions options;
};
/// Without a "?", `options` are the defaults.
/// \error kInvalidArgument  the text after the last "?" is not "max=" and a valid size above 0
Result<CacheUrl> parse_cache_url(std::string_view text);

/// A view of `store` that caches reads of a **given version** (ReadOptions::if_version) below `folder`, one
/// object for each range. When the same range of the same version is read again, it comes from the cache.
/// Other reads, and all other calls, pass through: data that may change never come from the cache.
///
/// Processes may share a folder, and other files may lie in it. The cache counts and removes only objects
/// that it can have written itself: `headrace-cache/<2>/<62 hexadecimal digits>` below the folder, and
/// unfinished writes beside them.
///
/// Cached ranges are written atomically and carry a checksum, so a killed process leaves nothing wrong.
/// Damaged ranges are removed and fetched again. Nothing is synced: a power failure may lose the latest
/// ranges. When the cache is full, it evicts ranges at random, so that a program that repeatedly reads more
/// than fits still finds a part of it (about a fifth, if half of it fits). Ranges larger than a quarter of
/// the limit are not cached. A folder that cannot be written or read costs time, but is never an error. A
/// forked child must not use its parent's stores, but may make its own for the same folder.
///
/// Layout of a cached object: the size of the whole object (8 bytes, little-endian), the CRC32C of that field
/// and the data (4 bytes, little-endian), the data.
std::unique_ptr<Store> make_cached(std::shared_ptr<Store> store, Location folder,
                                   const CacheOptions& options);

/// Returns the same place, seen through `make_cached`.
Location make_cached(Location location, Location folder, const CacheOptions& options);

}  // namespace headrace
