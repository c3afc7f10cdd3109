#pragma once

/// \file Rows of columns, written as objects of JSON: what a signature takes whose model makes its inputs of
/// raw rows.

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

/// Gathers the rows of one request. `word` is what messages call a row: "instance", "row".
class RawRowsWriter {
 public:
  /// The signature must outlive it. REQUIRES: signature.takes_raw_rows()
  RawRowsWriter(const ServedSignature& signature, std::string_view word);

  /// The column that a value without a name belongs to: the only one, or the only one that rows must have.
  /// \error kInvalidArgument  there is no such column
  Result<std::string_view> only_column() const;
  bool has_column(std::string_view name) const { return columns_.contains(name); }

  void begin_row();
  /// Adds a column's value to the row.
  /// \error kInvalidArgument  the row has this column already, or the value contains NaN or an infinity
  /// REQUIRES: has_column(name)
  Status add(std::string_view name, const JsonNode& value);
  /// The same, of elements of a tensor: one for a scalar or a list of one, else lists. Images, and byte
  /// strings that are no UTF-8, become {"b64": …}.
  /// \error kUnimplemented  as append_json_tensor
  Status add(std::string_view name, const TensorView& tensor, std::uint64_t first, const Shape& shape);
  /// \error kInvalidArgument  the row lacks a column that it needs
  Status end_row();
  /// A whole row: an object of JSON, which the model checks.
  void add_text(std::string_view row);

  /// Adds a row: the members of an object that are columns, the others are passed over; or a value for the
  /// only column; or {"row": "…"}, the text of a row.
  /// \error kInvalidArgument  no member is a column; as add, end_row and only_column
  Status add_row(const JsonNode& value);

  /// \error kInvalidArgument  there is no row
  Result<std::unique_ptr<BoundRequest>> finish() &&;

 private:
  struct Column {
    std::string quoted_name;
    const ServedColumn* column = nullptr;
    std::uint64_t seen_in_row = 0;  // the last row that has it, from 1
  };
  std::string place() const;
  std::string column_names() const;
  Status begin_member(std::string_view name);

  std::map<std::string_view, Column> columns_;
  std::size_t needed_ = 0;         // columns
  std::size_t needed_in_row_ = 0;  // of them
  std::string_view word_;
  TextList texts_;  // a text for each row
};

}  // namespace headrace
