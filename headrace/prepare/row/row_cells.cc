#include "headrace/prepare/row/row_cells.h"

#include <algorithm>

namespace headrace {

void RowCells::clear() {
  cells_.clear();
  made_.clear();
  made_bytes_.clear();
  texts_.clear();
}

void RowCells::add(std::string_view name, CellKind kind, BytesView data) {
  cells_.push_back({.name = name, .cell = {.kind = kind, .data = data}});
}

void RowCells::add_made(std::string_view name, CellKind kind, std::size_t begin) {
  made_.push_back({cells_.size(), begin, made_bytes_.size() - begin});
  add(name, kind, {});
}

std::optional<std::string_view> RowCells::repeated_name() {
  names_.clear();
  for (const NamedCell& cell : cells_) names_.push_back(cell.name);
  std::sort(names_.begin(), names_.end());
  const auto found = std::adjacent_find(names_.begin(), names_.end());
  if (found == names_.end()) return std::nullopt;
  return *found;
}

std::span<const NamedCell> RowCells::cells() {
  for (const Made& made : made_)
    cells_[made.cell].cell.data = BytesView(made_bytes_).subspan(made.begin, made.size);
  return cells_;
}

}  // namespace headrace
