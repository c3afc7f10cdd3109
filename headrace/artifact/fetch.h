#pragma once

/// \file Copies the entries of an artifact to a folder.

#include <functional>
#include <span>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Where an entry's object is now.
struct PlacedEntry {
  Location location;
  ObjectInfo object;
};

/// Finds a reference in its store, or a content below `root`.
/// \error kNotFound            it is gone
/// \error kFailedPrecondition  it is a reference whose size has changed, or whose version has, and whose
///                             checksum is not known: says what it was and is
Result<PlacedEntry> place_entry(StoreRegistry& registry, const Location& root, const ArtifactEntry& entry,
                                const CallOptions& call);

/// Copies each entry to its path below `to`, eight at a time, and compares sizes and checksums. Objects that
/// are there already with the same bytes stay; nothing is replaced. `advance` is called with bytes that were
/// copied, from any thread.
/// \error kFailedPrecondition  something else is there; and as for place_entry
/// \error kDataLoss            a content was altered, or a reference whose checksum is known
Status fetch_entries(StoreRegistry& registry, const Location& root, std::span<const ArtifactEntry> entries,
                     const Location& to, const CallOptions& call,
                     const std::function<void(std::uint64_t)>& advance = {});

}  // namespace headrace
