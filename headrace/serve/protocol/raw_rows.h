#pragma once

/// \file Raw rows: rows of columns, written as JSON objects, for a signature whose model computes its inputs
/// from them.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/protocol/text_rows.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// Gathers the rows of one request. `word` is the word for a row in messages: "instance" or "row".
class RawRowsWriter {
 public:
  /// The signature must outlive it. REQUIRES: signature.takes_raw_rows()
  RawRowsWriter(const ServedSignature& signature, std::string_view word);

  /// The column of a value without a name: the only column, or the only one that every row must have.
  /// \error kInvalidArgument  there is no such column
  Result<std::string_view> only_column() const;
  bool has_column(std::string_view name) const { return columns_.contains(name); }

  /// Begins a row, to which `add` adds columns.
  void begin_row();
  /// Adds the value of a column to the row.
  /// \error kInvalidArgument  the row already has this column, or the value contains NaN or an infinity
  /// REQUIRES: has_column(name)
  Status add(std::string_view name, const JsonNode& value);
  /// As above, but the value is the part of a tensor with this shape, from the element `first` on. A list of
  /// one element is written as a scalar, other lists as lists. Images, and byte strings that are not UTF-8,
  /// are written as {"b64": …}.
  /// \error kUnimplemented  as append_json_tensor
  Status add(std::string_view name, const TensorView& tensor, std::uint64_t first, const Shape& shape);
  /// Ends the row.
  /// \error kInvalidArgument  the row lacks a column that every row must have
  Status end_row();
  /// Adds a whole row: the text of a JSON object, which the model checks later.
  void add_text(std::string_view row);

  /// Adds a whole row. `value` is an object whose members are columns (others are ignored), or a value for
  /// the only column, or {"row": "…"} with the text of a row.
  /// \error kInvalidArgument  no member is a column; as add, end_row and only_column
  Status add_row(const JsonNode& value);

  /// Returns the rows.
  /// \error kInvalidArgument  there is no row
  Result<std::unique_ptr<BoundRequest>> finish() &&;

 private:
  struct Column {
    std::string quoted_name;
    const ServedColumn* column = nullptr;
    std::uint64_t seen_in_row = 0;  // number of the last row that has the column, from 1
  };
  std::string place() const;
  std::string column_names() const;
  Status begin_member(std::string_view name);

  std::map<std::string_view, Column> columns_;
  std::size_t needed_ = 0;         // number of columns that every row must have
  std::size_t needed_in_row_ = 0;  // number of these that the row has
  std::string_view word_;
  TextList texts_;  // a text for each row
};

}  // namespace headrace
