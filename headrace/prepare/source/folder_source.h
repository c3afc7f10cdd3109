#pragma once

/// \file Reads the objects of a folder as rows.

#include <cstdint>
#include <memory>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// Returns the objects below the folder with `slice.after` < key <= `slice.last`, ascending. Lists them, but
/// reads none: contents are references to whole objects, in the version that was listed. The listing is
/// compared with `slice.digest` only at the end, so rows may come before a change is noticed. Skips objects
/// that `known` has in the same version, and ignores objects whose URLs `only` does not have. Rejects objects
/// larger than the limit. Memory: 65,536 objects of the listing.
/// \error kFailedPrecondition  of `next`: the folder has changed, or an object has changed since `known` was
///                             recorded
std::unique_ptr<RowSource> open_folder_range(const Location& folder, Layout layout, const Slice& slice,
                                             std::uint64_t cell_limit_bytes, const KnownInputs* known,
                                             const KnownInputs* only);

}  // namespace headrace
