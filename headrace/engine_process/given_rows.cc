#include "headrace/engine_process/given_rows.h"

#include "headrace/base/text.h"
#include "headrace/prepare/table/json_cells.h"

namespace headrace {
void GivenRows::give(std::span<const std::string_view> rows) {
  rows_ = rows;
  next_ = 0;
}

Result<std::optional<SourceRow>> GivenRows::next() {
  if (next_ == rows_.size()) return std::optional<SourceRow>();
  const std::string_view text = rows_[next_];
  SourceRow row{.place = {.row = ++next_}, .id = "the row"};
  cells_.clear();
  decoded_.clear();
  if (auto problem = read_json_object(text, kCellLimitBytes, cells_)) {
    row.verdict = RowVerdict::kRejected;
    row.reason = std::move(problem->reason);
    row.detail = std::move(problem->detail);
    return std::optional(std::move(row));
  }
  const std::span<const NamedCell> cells = cells_.cells();
  given_.assign(cells.begin(), cells.end());
  for (NamedCell& each : given_) {
    if (each.cell.kind != CellKind::kBytes) continue;
    if (auto bytes = bytes_of_base64_object(as_text(each.cell.data)))
      each.cell.data = decoded_.emplace_back(*std::move(bytes));
  }
  row.cells = given_;
  return std::optional(std::move(row));
}

}  // namespace headrace
