#include "headrace/prepare/schema/missing_cell.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

bool is_missing(const Cell& cell, std::span<const std::string> missing) {
  if (cell.kind != CellKind::kBytes) return cell.kind == CellKind::kMissing;
  return !missing.empty() && std::ranges::find(missing, trim(as_text(cell.data))) != missing.end();
}

}  // namespace headrace
