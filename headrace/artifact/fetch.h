#pragma once

/// \file Copies the entries of an artifact to a folder.

#include <functional>
#include <span>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Copies each entry to its path below `to`, eight at a time, and compares sizes and checksums. Objects that
/// are there already with the same bytes stay; nothing is replaced. `advance` is called with bytes that were
/// copied, from any thread; again if a copy of a content was altered, and the next one is read.
/// \error kNotFound            an entry's object is gone
/// \error kFailedPrecondition  something else is there; or the size of a reference has changed, or its
///                             version, and its checksum is not known: says what it was and is
/// \error kDataLoss            a content was altered, or a reference whose checksum is known
Status fetch_entries(StoreRegistry& registry, const Location& root, std::span<const ArtifactEntry> entries,
                     const Location& to, const CallOptions& call,
                     const std::function<void(std::uint64_t)>& advance = {});

}  // namespace headrace
