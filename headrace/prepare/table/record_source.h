#pragma once

/// \file Reads TFRecord files of tf.Examples, or of logged requests, as rows: docs/prepare.md, "Rows".

#include <memory>
#include <vector>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Reads files of records, plain, gzip or zlib. A row has the number of its record and the id
/// "<file>@<number>"; a staged row (staged_rows.h) has the id "rows@<number>", counted over all files. Each
/// feature is a column. One byte string becomes bytes; none or several become a list. Floats and int64s
/// remain a list of any length. A feature without a kind is missing.
///
/// A record is rejected if it is not a tf.Example or is larger than a cell may be. Damaged framing counts as
/// one rejected record, however many were lost; reading continues at the next record that can be found
/// (find_next_record).
///
/// Memory: a record, and its lists, at most row_limit_bytes.
/// \error of `next`: as BytePieces
std::unique_ptr<RowSource> open_records(std::vector<SourceFile> files,
                                        std::uint64_t cell_limit_bytes = kCellLimitBytes);

/// The same for the bytes of a stream, without compression.
std::unique_ptr<RowParser> make_record_parser(std::uint64_t cell_limit_bytes = kCellLimitBytes);

/// Reads files of requests that `headrace serve --log-requests` or TensorFlow Serving has logged. A record
/// has the rows of make_request_rows (record_rows.h), and a row has its number in the file. Otherwise like
/// open_records; damage counts as one rejected row.
std::unique_ptr<RowSource> open_request_log(std::vector<SourceFile> files,
                                            std::uint64_t cell_limit_bytes = kCellLimitBytes);
std::unique_ptr<RowParser> make_request_log_parser(std::uint64_t cell_limit_bytes = kCellLimitBytes);

}  // namespace headrace
