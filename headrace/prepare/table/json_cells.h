#pragma once

/// \file A JSON object to cells.

#include <optional>
#include <string_view>

#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Appends a cell for each key, in the order of the text. What each kind of value becomes: docs at
/// `open_json_lines`. Borrows `text` where it can. Memory: numbers are eight bytes each, together at most the
/// limit of a row. Stack: the same for all texts.
/// \return what is wrong with it, if something is; the cells are of no use then
std::optional<RowProblem> read_json_object(std::string_view text, std::uint64_t cell_limit_bytes,
                                           RowCells& cells);

}  // namespace headrace
