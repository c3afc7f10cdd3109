#pragma once

/// \file Turns a JSON object into cells.

#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Appends a cell for each key, in the order of the text; the table at `open_json_lines` shows the cell for
/// each kind of value. Borrows `text` where possible. Memory: eight bytes for each number, together at most
/// the limit of a row. Stack: the same for all texts.
/// \return the problem with the text, if there is one; the cells must not be used then
std::optional<RowProblem> read_json_object(std::string_view text, std::uint64_t cell_limit_bytes,
                                           RowCells& cells);

/// The bytes that an object {"b64": …} stands for, the form in which clients send bytes to servers. nullopt
/// if the value, which is JSON, is not such an object.
std::optional<Bytes> bytes_of_base64_object(std::string_view value);

}  // namespace headrace
