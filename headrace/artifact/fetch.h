#pragma once

/// \file Copies the entries of an artifact to a folder.

#include <functional>
#include <span>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Copies each entry to its path below `to`, eight at a time, and compares sizes and checksums. An object
/// that is there already with the same bytes stays; nothing is replaced. `advance` is called with the number
/// of bytes that were copied, from any thread. If a copy of a content was altered, the next copy is read, and
/// its bytes are counted again.
/// \error kNotFound            an entry's object is gone
/// \error kFailedPrecondition  another object is at the path; or the size of a reference has changed; or its
///                             version has changed and no checksum is known: the message says what it was and
///                             is
/// \error kDataLoss            a content was altered, or a reference does not have its checksum
Status fetch_entries(StoreRegistry& registry, const Location& root, std::span<const ArtifactEntry> entries,
                     const Location& to, const CallOptions& call,
                     const std::function<void(std::uint64_t)>& advance = {});

}  // namespace headrace
