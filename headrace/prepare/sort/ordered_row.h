#pragma once

/// \file A row with its place in the order of a data set.

#include <cstdint>
#include <span>
#include <string_view>

#include "headrace/prepare/row/row.h"

namespace headrace {

/// Rows of a split ascend by order, tie, id, slice, place. Borrows what it shows.
struct OrderedRow {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::string_view id;
  RowPlace place{};
  /// Of all columns that the schema uses, ascending by name.
  std::span<const Cell> cells{};
};

}  // namespace headrace
