#pragma once

/// \file Tombstones: `rm` and `sync --delete` leave them at the end of an output's chain, so that no process
/// that worked there can publish any more. docs/formats/ownership.md

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/location.h"

namespace headrace {

/// A chain, as the command that removes its folder found it.
struct FoundChain {
  Location folder;
  ChainState state;
};

/// Reads the chains to which the objects `keys` of `store` belong, each chain once. REQUIRES:
/// is_manifest_key(each key); keys of one chain follow each other
/// \error as read_chain
Result<std::vector<FoundChain>> read_chains(const Location& store, std::span<const std::string> keys,
                                            const CallOptions& call);

/// The key of the last object of a chain, if that is a tombstone; otherwise none.
/// \error as read_chain
Result<std::optional<std::string>> find_tombstone(const Location& folder, const CallOptions& call);

/// Appends a tombstone, an entry of ownership with the action `remove`, to each chain that does not end in
/// one. From then on, no process that worked there can publish.
/// \error kFailedPrecondition  another process has begun or published something there since the chain was
///                             found
Status end_chains(std::span<const FoundChain> chains, const Actor& actor, const CallOptions& call);
/// Reads the chains of these folders and appends tombstones, as end_chains does.
Status leave_tombstones(std::span<const Location> folders, const Actor& actor, const CallOptions& call);

}  // namespace headrace
