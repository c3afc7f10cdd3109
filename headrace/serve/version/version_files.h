#pragma once

/// \file The files of a version on the local disk: fetching and comparing them. Part of export_cache.h.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/serve/version/wanted_version.h"

namespace headrace {

struct FetchOptions {
  int threads = 4;
  CallOptions call{};
  /// Called from any thread after each piece, with the bytes of that piece.
  std::function<void(std::uint64_t)> advance{};
};

/// Fetches the files into `folder`, which must be empty, and returns the CRC32C of each.
/// \error as ExportCache::fetch
Result<std::vector<std::uint32_t>> fetch_files(const WantedVersion& version, const std::string& folder,
                                               const FetchOptions& options);

/// Whether `folder` has files with these names and sizes, all of them regular files.
bool has_sizes(const WantedVersion& version, const std::string& folder);

/// Whether these files have these checksums, given in the order of `version`; false if a file cannot be read.
bool has_checksums(const WantedVersion& version, const std::vector<std::uint32_t>& checksums,
                   const std::string& folder, int threads);

/// The error for a failed system call on a file of the cache. `number` is the errno.
Error cache_error(std::string_view doing, const std::string& path, int number);

}  // namespace headrace
