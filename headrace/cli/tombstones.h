#pragma once

/// \file The end of outputs: what `rm` and `sync --delete` leave so that nobody who worked there can publish
/// any more. docs/formats/ownership.md

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/location.h"

namespace headrace {

/// A chain, as the command that removes its folder has found it.
struct FoundChain {
  Location folder;
  ChainState state;
};

/// The chains that the objects `keys` of `store` belong to, each once. REQUIRES: is_manifest_key(each)
/// \error those of read_chain
Result<std::vector<FoundChain>> read_chains(const Location& store, std::span<const std::string> keys,
                                            const CallOptions& call);

/// The key of the last object of a chain, if that is a tombstone; else none.
/// \error those of read_chain
Result<std::optional<std::string>> find_tombstone(const Location& folder, const CallOptions& call);

/// Appends a tombstone, an entry of ownership with the action `remove`, to each chain that does not end in
/// one. From then on nobody who works there publishes anything.
/// \error kFailedPrecondition  somebody has begun or published something there since it was found
Status end_chains(std::span<const FoundChain> chains, const Actor& actor, const CallOptions& call);
/// The same, for chains as they are now.
Status leave_tombstones(std::span<const Location> folders, const Actor& actor, const CallOptions& call);

}  // namespace headrace
