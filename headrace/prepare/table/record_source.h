#pragma once

/// \file TFRecord files of tf.Examples as rows: docs/prepare.md, "Rows".

#include <memory>
#include <vector>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Files of records, plain, gzip or zlib. The number of a row is the record's, and an id is
/// "<file>@<number>"; of rows that are staged (staged_rows.h) "rows@<number>", counted over all files. A
/// feature is a column: of one byte string, bytes; of none or several, a list; of floats or int64s, these,
/// however many; a feature of no kind is missing.
///
/// Rejected are records that are no tf.Example, or are larger than a cell may be. Damage of the framing
/// counts as one record, which is rejected too, however many were lost there: reading goes on where the next
/// one begins, if there is any (find_next_record).
///
/// Errors of the source: those of BytePieces. Memory: a record, and its lists, at most row_limit_bytes.
std::unique_ptr<RowSource> open_records(std::vector<SourceFile> files,
                                        std::uint64_t cell_limit_bytes = kCellLimitBytes);

/// As above, of bytes without compression.
std::unique_ptr<RowParser> make_record_parser(std::uint64_t cell_limit_bytes = kCellLimitBytes);

}  // namespace headrace
