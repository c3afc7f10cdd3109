#pragma once

/// \file Reads lines of JSON as rows: docs/prepare.md, "Rows".

#include <memory>
#include <vector>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Reads files with one object in each line, plain or gzip; skips lines of white space. Each line is a row,
/// numbered as in the file. Its id is "<file>@<offset of the line>", in the uncompressed file. Each key is a
/// column:
///
/// | value | cell |
/// |---|---|
/// | text | bytes |
/// | whole number (no `.` and no exponent); true, false | an int64; 1, 0 |
/// | other number | a float32, the nearest |
/// | null | missing |
/// | list of numbers | int64s if all are whole, else float32s |
/// | list of texts | a list of byte strings |
/// | other list, object | its JSON text, as it stands there, as bytes |
///
/// A line is rejected if it is not an object, nests deeper than kJsonDepthLimit, has a key twice, has a
/// number that is too large for its type, or is larger than allowed.
///
/// Memory: a line and its lists, each at most row_limit_bytes.
/// \error of `next`: as BytePieces
std::unique_ptr<RowSource> open_json_lines(std::vector<SourceFile> files,
                                           std::uint64_t cell_limit_bytes = kCellLimitBytes);

/// The same for the bytes of a stream, without compression.
std::unique_ptr<RowParser> make_json_lines_parser(std::uint64_t cell_limit_bytes = kCellLimitBytes);

}  // namespace headrace
