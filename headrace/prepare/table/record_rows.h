#pragma once

/// \file The rows that a record of a TFRecord file holds.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Use it from one thread at a time. Uses its memory again from record to record.
class RecordRows {
 public:
  virtual ~RecordRows() = default;

  /// Begins a record, which must stay where it is until its last row was read.
  /// \return the problem with the record, if there is one; it has no rows then
  virtual std::optional<RowProblem> begin(BytesView record) = 0;
  /// How many rows the record has.
  virtual std::uint64_t rows() const = 0;
  /// Reads a row. \return the problem with it, if there is one; `cells` must not be used then
  virtual std::optional<RowProblem> read(std::uint64_t row) = 0;
  /// The cells of the row that was read last. Valid until any other function is called.
  virtual std::span<const NamedCell> cells() = 0;
};

/// A tf.Example, which is one row: a cell of each feature, ascending by name; of equal names the last counts.
/// Borrows the record where it can. Memory: four or eight bytes for each number and four more for each byte
/// string of a list, together at most the limit of a row.
std::unique_ptr<RecordRows> make_example_rows(std::uint64_t cell_limit_bytes);

/// A request that a server has logged, as a PredictionLog: record/logged_request.h. If its only input is
/// `row`, of texts that are objects of JSON, each is a row, with the cells of read_json_object; {"b64": …} is
/// the bytes. Otherwise each input is a column: if the first dimension of all is the same, it is the rows,
/// else the request is one row. A number of a row is a list of one. Memory: eight bytes for each number, and
/// 16 for each text, together at most twice the limit of a cell, and a row.
std::unique_ptr<RecordRows> make_request_rows(std::uint64_t cell_limit_bytes);

}  // namespace headrace
