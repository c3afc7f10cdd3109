#pragma once

/// \file Tables of text with a heading as rows: docs/prepare.md, "Rows".

#include <memory>
#include <vector>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

struct TableOptions {
  char delimiter = ',';
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
};

/// Files of one table, plain or gzip. Each begins with a heading of the same names, in any order; cells come
/// in the order of the first file's. They are bytes, in whatever encoding; an empty one is missing. A byte-
/// order mark (of UTF-8) is passed over. The heading is row 1; an id is "<file>@<offset of the row>", in the
/// uncompressed file. Rejected are rows that have not as many cells as the heading, quotes that are out of
/// place, or a cell or all of them larger than allowed.
///
/// Errors of the source, besides those of BytePieces: kInvalidArgument, a file without a heading, or one with
/// a name that is empty, occurs twice, or is none of the first file's.
///
/// Memory: a row, of at most row_limit_bytes.
std::unique_ptr<RowSource> open_table(std::vector<SourceFile> files, const TableOptions& options);

/// As above, of bytes without compression.
std::unique_ptr<RowParser> make_table_parser(const TableOptions& options);

}  // namespace headrace
