#pragma once

/// \file Removes contents that no version of an artifact names: docs/formats/artifacts.md, "Removal".

#include <functional>

#include "headrace/store/location.h"

namespace headrace {

struct CollectedContent {
  std::uint64_t removed = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t too_young = 0;  // that no version names, either; not counted if no content is old
};

/// Removes copies below a tracking root that no version names, and of which `is_old` is true; `visit` is told
/// of each before it is removed. With `is_dry_run`, nothing is written or removed. May be called at any time,
/// by several processes, while others log artifacts. Cost: reads every version and every list of entries, if
/// there is an old content at all.
/// \error kDataLoss, kNotFound  a version or a list cannot be read: nothing is removed
Result<CollectedContent> collect_content(const Location& root, bool is_dry_run,
                                         const std::function<bool(const ObjectInfo&)>& is_old,
                                         const std::function<void(const ObjectInfo&)>& visit,
                                         const CallOptions& call);

}  // namespace headrace
