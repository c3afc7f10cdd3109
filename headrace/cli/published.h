#pragma once

/// \file Published folders, as `verify` and `inspect` look at them: finding them, and comparing their parts.

#include <cstdint>
#include <functional>
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
};

/// Reads every part and compares size and CRC32C, `jobs` parts at a time; `advance` is called with the bytes
/// that were read, from any thread. Returns what is bad, in the manifest's order; an error only where nothing
/// can be said: the store fails, or `call.stop` was stopped.
Result<std::vector<BadPart>> verify_parts(const PublishedFolder& published, int jobs, const CallOptions& call,
                                          const std::function<void(std::uint64_t)>& advance);

}  // namespace headrace
