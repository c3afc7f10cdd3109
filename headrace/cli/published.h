#pragma once

/// \file Finds published folders and compares their parts, for `verify`, `repair` and `inspect`.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Every folder at or below `location` that has a manifest, in the order of keys. Cost: lists all objects
/// there.
Result<std::vector<Location>> find_published(const Location& location, const CallOptions& call);

struct BadPart {
  std::string url;
  std::string problem;
  std::optional<ManifestPart> part{};  // none: a manifest, an entry of ownership, or the chain
};

/// A manifest of a folder, and those of its parts that no later manifest of that folder names.
struct PublishedVersion {
  PublishedFolder published;
  std::vector<ManifestPart> parts;
};

struct PublishedVersions {
  std::vector<PublishedVersion> versions;  // folder by folder in the order of keys, the latest version first
  std::vector<BadPart> bad;                // manifests and entries that cannot be read; chains with gaps
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;
};

/// How to repair a bad object that is not a part.
inline constexpr std::string_view kRestoreChain =
    "a manifest or an entry of ownership cannot be made again: restore it from a copy, or run the command "
    "that "
    "made the folder again with --overwrite";

/// Reads every manifest at or below `location`; with `only_latest`, only the manifest of each folder that
/// readers take. `bad` has everything that would stop a command that continues work there.
/// \error kNotFound  there is no manifest
Result<PublishedVersions> read_published_versions(const Location& location, bool only_latest,
                                                  const CallOptions& call);

/// Reads parts of a folder and compares their sizes and CRC32Cs, `jobs` parts at a time. `advance` is called
/// with the number of bytes that were read, from any thread. Returns the bad parts, in the order of `parts`.
/// \error of the store, if it prevents an answer; kCancelled
Result<std::vector<BadPart>> verify_parts(const Location& folder, std::span<const ManifestPart> parts,
                                          int jobs, const CallOptions& call,
                                          const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
