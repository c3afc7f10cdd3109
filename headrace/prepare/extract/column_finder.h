#pragma once

/// \file Finds the columns of a schema in the rows of a source.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

/// Which cell of a source's row has a column's name. Remembers where it was the last time: use it from one
/// thread at a time.
class ColumnFinder {
 public:
  /// Borrows `missing`, the texts that count as a missing cell.
  ColumnFinder(std::string name, std::span<const std::string> missing)
      : name_(std::move(name)), missing_(missing) {}
  const std::string& name() const { return name_; }

  /// Null: the row has no such column, or its cell is missing.
  const Cell* find(std::span<const NamedCell> cells);

 private:
  const Cell* find_named(std::span<const NamedCell> cells);

  std::string name_;
  std::span<const std::string> missing_;
  std::size_t place_ = 0;
};

/// Checks the header of a table, of which every row has the same columns. Messages call the table `source`,
/// and begin with `who`: "the schema names".
/// \error kInvalidArgument  it lacks one of the columns: names the nearest, or all that it has
Status check_header(const std::vector<std::string>& wanted, std::span<const NamedCell> cells,
                    std::string_view source, std::string_view who);

}  // namespace headrace
