#pragma once

/// \file Rows that are the objects of a folder.

#include <cstdint>
#include <memory>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// The objects with `slice.after` < key <= `slice.last` below the folder, ascending. Lists them, and reads
/// none: contents are references to whole objects, of the version that was listed. At the end compares what
/// it found with `slice.digest`; so rows may come before it is noticed that they are others. Memory: 65,536
/// objects of the listing. Cells larger than the limit are rejected.
/// \error kFailedPrecondition  of `next`: the folder changed
std::unique_ptr<RowSource> open_folder_range(const Location& folder, Layout layout, const Slice& slice,
                                             std::uint64_t cell_limit_bytes, const KnownInputs* known);

}  // namespace headrace
