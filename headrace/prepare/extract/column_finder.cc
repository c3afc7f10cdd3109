#include "headrace/prepare/extract/column_finder.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/prepare/schema/missing_cell.h"

namespace headrace {

const Cell* ColumnFinder::find(std::span<const NamedCell> cells) {
  const Cell* const cell = find_named(cells);
  return cell == nullptr || is_missing(*cell, missing_) ? nullptr : cell;
}

const Cell* ColumnFinder::find_named(std::span<const NamedCell> cells) {
  if (place_ < cells.size() && cells[place_].name == name_) return &cells[place_].cell;
  const auto found = std::ranges::find(cells, std::string_view(name_), &NamedCell::name);
  if (found == cells.end()) return nullptr;
  place_ = static_cast<std::size_t>(found - cells.begin());
  return &found->cell;
}

Status check_header(const std::vector<std::string>& wanted, std::span<const NamedCell> cells,
                    std::string_view source, std::string_view who) {
  std::vector<std::string> names;
  for (const NamedCell& cell : cells) names.emplace_back(cell.name);
  for (const std::string& column : wanted) {
    if (std::ranges::find(names, column) != names.end()) continue;
    const auto nearest = nearest_name(column, names);
    return Error{Code::kInvalidArgument,
                 concat(who, " a column ", column, ", which the header of ", source, " lacks; ",
                        nearest ? concat("did you mean ", *nearest, "?")
                                : concat("its columns are ", printable_line(join(names, ", "), 500),
                                         "; if its first line is data, put a line with the column names "
                                         "above it"))};
  }
  return {};
}

}  // namespace headrace
