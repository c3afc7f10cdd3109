#pragma once

/// \file Published folders, as `verify`, `repair` and `inspect` look at them: finding them, and comparing
/// their parts.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Every folder at or below `location` that has a manifest, in the order of keys. Lists all that lies there.
Result<std::vector<Location>> find_published(const Location& location, const CallOptions& call);

struct BadPart {
  std::string url;
  std::string problem;
  std::optional<ManifestPart> part{};  // none: a manifest, an entry of ownership, or the chain
};

/// A manifest of a folder, and those of its parts that no later manifest of the folder names.
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

/// Says how to mend a bad object that is no part.
inline constexpr std::string_view kRestoreChain =
    "a manifest or an entry of ownership cannot be made again: restore it from a copy, or run the command "
    "that "
    "made the folder again with --overwrite";

/// Every manifest at or below `location`; with `only_latest`, of each folder the one that readers take. In
/// `bad` is everything that makes commands stop which want to go on there.
/// \error kNotFound  there is none
Result<PublishedVersions> read_published_versions(const Location& location, bool only_latest,
                                                  const CallOptions& call);

/// Reads parts of a folder and compares size and CRC32C, `jobs` parts at a time; `advance` is called with the
/// bytes that were read, from any thread. Returns what is bad, in the order of `parts`; an error only where
/// nothing can be said: the store fails, or `call.stop` was stopped.
Result<std::vector<BadPart>> verify_parts(const Location& folder, std::span<const ManifestPart> parts,
                                          int jobs, const CallOptions& call,
                                          const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
