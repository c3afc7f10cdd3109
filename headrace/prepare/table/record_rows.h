#pragma once

/// \file The rows that a record of a TFRecord file holds.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Reuses its memory from record to record. Not thread-safe.
class RecordRows {
 public:
  virtual ~RecordRows() = default;

  /// Begins a record. The record must stay valid and in place until its last row is read.
  /// \return the problem with the record, if there is one; it has no rows then
  virtual std::optional<RowProblem> begin(BytesView record) = 0;
  /// The number of rows in the record.
  virtual std::uint64_t rows() const = 0;
  /// Reads a row. \return the problem with it, if there is one; `cells` must not be used then
  virtual std::optional<RowProblem> read(std::uint64_t row) = 0;
  /// The cells of the row that was read last. Valid until any other function is called.
  virtual std::span<const NamedCell> cells() = 0;
};

/// The row of a tf.Example: a cell for each feature, ascending by name. If a name occurs twice, the last
/// feature counts. Borrows the record where possible. Memory: four or eight bytes for each number, and four
/// more for each byte string of a list; together at most the limit of a row.
std::unique_ptr<RecordRows> make_example_rows(std::uint64_t cell_limit_bytes);

/// The rows of a request that a server has logged as a PredictionLog: record/logged_request.h. If the only
/// input is `row` and its texts are JSON objects, each text is a row with the cells of read_json_object,
/// where {"b64": …} stands for the bytes. Otherwise each input is a column. If all inputs have the same first
/// dimension, it is the number of rows; otherwise the request is one row. A single number of a row is a list
/// of one. Memory: eight bytes for each number, and 16 for each text, together at most twice the limit of a
/// cell; and a row.
std::unique_ptr<RecordRows> make_request_rows(std::uint64_t cell_limit_bytes);

}  // namespace headrace
