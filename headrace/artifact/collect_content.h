#pragma once

/// \file Removes contents that no version of an artifact names. docs/formats/artifacts.md, "Removal".

#include <functional>

#include "headrace/store/location.h"

namespace headrace {

struct CollectedContent {
  std::uint64_t removed = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t too_young = 0;  // unnamed, but not old; 0 if no content is old
};

/// Removes the copies of contents below a tracking root that no version names and for which `is_old` is true.
/// Calls `visit` for each of them before any is removed. With `is_dry_run`, writes and removes nothing. May
/// be called at any time, by several processes, while others log artifacts. Cost: one listing and, if any
/// content is old, a read of every version and every list of entries.
/// \error kDataLoss, kNotFound  a version or a list cannot be read: nothing is removed
Result<CollectedContent> collect_content(const Location& root, bool is_dry_run,
                                         const std::function<bool(const ObjectInfo&)>& is_old,
                                         const std::function<void(const ObjectInfo&)>& visit,
                                         const CallOptions& call);

}  // namespace headrace
