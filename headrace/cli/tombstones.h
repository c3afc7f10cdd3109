#pragma once

/// \file The end of outputs: what `rm` and `sync --delete` leave so that nobody who worked there can publish
/// any more. docs/formats/ownership.md

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/store/location.h"

namespace headrace {

/// The folders whose chains the objects `keys` of `store` belong to, each once. REQUIRES:
/// is_manifest_key(each)
std::vector<Location> chains_of(const Location& store, std::span<const std::string> keys);

/// The key of the last object of a chain, if that is a tombstone; else none.
/// \error those of read_chain
Result<std::optional<std::string>> find_tombstone(const Location& folder, const CallOptions& call);

/// Appends a tombstone, an entry of ownership with the action `remove`, to each chain that does not end in
/// one. From then on nobody who works there publishes anything.
/// \error kFailedPrecondition  somebody has begun or published something there at the same time
Status leave_tombstones(std::span<const Location> folders, const Actor& actor, const CallOptions& call);

}  // namespace headrace
