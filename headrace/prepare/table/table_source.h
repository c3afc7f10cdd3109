#pragma once

/// \file Reads text tables with a header as rows: docs/prepare.md, "Rows".

#include <memory>
#include <vector>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

struct TableOptions {
  char delimiter = ',';
  bool is_certain = false;  // else a header of one column that contains another delimiter is an error
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
};

/// Reads the files of one table, plain or gzip. Each file begins with a header of the same names, in any
/// order; cells come in the order of the first file's header. Cells are bytes in any encoding; an empty cell
/// is missing. A byte-order mark of UTF-8 is skipped. The header is row 1; an id is "<file>@<offset of the
/// row>", in the uncompressed file. A row is rejected if it has more or fewer cells than the header, has a
/// misplaced quote, or if a cell or the row is larger than allowed.
///
/// Memory: a row, of at most row_limit_bytes.
/// \error of `next`: kInvalidArgument  a file has no header, or its header has an empty name, a name twice, a
///                   name that the first file lacks, or seemingly another delimiter
/// \error of `next`: as BytePieces
std::unique_ptr<RowSource> open_table(std::vector<SourceFile> files, const TableOptions& options);

/// The same for the bytes of a stream, without compression.
std::unique_ptr<RowParser> make_table_parser(const TableOptions& options);

}  // namespace headrace
