#pragma once

/// \file A row with its place in the order of a dataset.

#include <cstdint>
#include <span>
#include <string_view>

#include "headrace/prepare/row/row.h"

namespace headrace {

/// Rows of a split ascend by order, tie, id, slice, place. Borrows its id and cells.
struct OrderedRow {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::string_view id;
  RowPlace place{};
  /// The cells of all columns that the schema uses, ascending by the column's name.
  std::span<const Cell> cells{};
};

}  // namespace headrace
