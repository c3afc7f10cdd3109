#pragma once

/// \file Finds the columns of a schema in the rows of a source.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

/// Finds the cell of a column in rows of a source. Remembers where the column was. Not thread-safe.
class ColumnFinder {
 public:
  /// Borrows `missing`, the texts that count as a missing cell.
  ColumnFinder(std::string name, std::span<const std::string> missing)
      : name_(std::move(name)), missing_(missing) {}
  const std::string& name() const { return name_; }

  /// The cell of the column, from `cells`; null if there is no such column, or its cell is missing.
  const Cell* find(std::span<const NamedCell> cells);

 private:
  const Cell* find_named(std::span<const NamedCell> cells);

  std::string name_;
  std::span<const std::string> missing_;
  std::size_t place_ = 0;
};

/// Checks the header of a table, in which every row has the same columns. Messages call the table `source`,
/// and begin with `who`: "the schema names".
/// \error kInvalidArgument  the header lacks a column; the message names the nearest one, or all that it has
Status check_header(const std::vector<std::string>& wanted, std::span<const NamedCell> cells,
                    std::string_view source, std::string_view who);

}  // namespace headrace
