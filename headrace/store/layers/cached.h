#pragma once

/// \file A store whose reads are kept in another, near one: a folder on a local disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

struct CacheOptions {
  /// Of all that the cache keeps in the folder, for whatever stores. One process never exceeds it; each
  /// further one that writes there at the same time may, by a twentieth or by the ranges that it is writing.
  std::uint64_t max_bytes = std::uint64_t{100} << 30;
};

/// A cache as people name it: a folder's URL, and how large it may become:
/// "file:///mnt/nvme/cache?max=200GiB".
struct CacheUrl {
  std::string folder;
  CacheOptions options;
};
/// \error kInvalidArgument  something else after the "?", or a size that is none
Result<CacheUrl> parse_cache_url(std::string_view text);

/// A view of `store` that keeps what is read of a **given version** (ReadOptions::if_version) below `folder`,
/// one object for each range that is read: the same range of the same version is then read from there. Other
/// reads, and all else, pass through: what may change is never taken from the cache.
///
/// Processes may share a folder, and so may others' files: only what the cache can have written itself,
/// `headrace-cache/<2>/<62 hexadecimal digits>` below the folder and unfinished writes beside it, is ever
/// counted or removed. What is kept is written atomically and carries a checksum, so a process that is
/// killed leaves nothing wrong; what is damaged is removed and fetched anew. Nothing is synced: after a
/// power failure the cache may have lost what it kept last. When the cache is full, kept ranges chosen at
/// random go: whoever reads more than fits, over and over, still finds a part of it (about a fifth, if half
/// of it fits). Ranges of over a quarter of the most are not kept. A folder that cannot be written or read
/// costs time, never an error. A fork's child does not use its parent's stores, but may make its own of the
/// same folder.
///
/// Layout of a kept object: object's size (8 bytes, little-endian), CRC32C of that and of the data (4), the
/// data.
std::unique_ptr<Store> make_cached(std::shared_ptr<Store> store, Location folder,
                                   const CacheOptions& options);

/// The same place, through `make_cached`.
Location make_cached(Location location, Location folder, const CacheOptions& options);

}  // namespace headrace
