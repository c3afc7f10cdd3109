#pragma once

/// \file Decodes selected features of tf.Examples straight into the columns of a batch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/example.h"

namespace headrace {

/// The value for a feature that an example lacks; `monostate`: no value was given.
using DefaultValue = std::variant<std::monostate, float, std::int64_t, std::string>;

/// A feature that is wanted from every example.
struct Column {
  std::string name;
  DataType type = DataType::kFloat32;
  /// Values per example; none: any number ("ragged").
  std::optional<std::uint32_t> length{};
  /// Whether it is an error that an example lacks the feature, or has it without a kind, which protobuf
  /// allows. With a default it is none.
  bool required = true;
  /// If it is absent, each of the `length` values is this one, of the column's type; else zeros or empty byte
  /// strings. A ragged column has no default: its row is empty.
  DefaultValue default_value{};
  /// Ends the message about an example that lacks the feature: what to do. May be empty.
  std::string advice{};
  /// For a ragged column: the number of values of an example that has any; none: any number.
  std::optional<std::uint32_t> count_if_present{};
};

/// The target of a column's values. With a fixed length n it is the first value of row 0, and row r begins
/// n·r values further on. Ragged: values are appended, and the caller notes the size after each row. Byte
/// strings view the record, or the decoder if they are a default.
using ColumnBuffer = std::variant<float*, std::int64_t*, BytesView*, std::vector<float>*,
                                  std::vector<std::int64_t>*, std::vector<BytesView>*>;

/// Compiled once from the columns, then used for millions of records. Accepts every encoding that protobuf
/// parsers accept: packed and unpacked lists, lists in several pieces, unknown fields, any order, repeated
/// names (the last counts). Features that are not selected are skipped and not validated.
///
/// Not thread-safe: it remembers the order of names in the last record, to find a name by one comparison.
/// Copy it for each thread.
class ExampleDecoder {
 public:
  /// \error kInvalidArgument  two columns of one name; a default of another type, or of a ragged column
  static Result<ExampleDecoder> create(std::vector<Column> columns);

  const std::vector<Column>& columns() const { return columns_; }

  /// Decodes one record into row `row` of `buffers`, one for each column and of its type. No allocation but
  /// what ragged columns grow by (at most 16 times the record). After an error, the row's fixed values are
  /// unspecified and ragged columns are as before.
  /// \error kDataLoss         not a tf.Example
  /// \error kInvalidArgument  a feature is absent, of another type or another length: names the column, what
  ///                          is wanted and what was found; or a buffer that does not fit its column
  Status decode(BytesView record, std::span<const ColumnBuffer> buffers, std::size_t row);

 private:
  static constexpr int kNoColumn = -1;

  explicit ExampleDecoder(std::vector<Column> columns);
  bool gather(BytesView record);
  int column_of(std::string_view name, std::size_t place);
  Status decode_columns(std::span<const ColumnBuffer> buffers, std::size_t row) const;

  std::vector<Column> columns_;
  std::vector<int> by_name_;  // indexes of columns_, ascending by name
  std::vector<std::pair<std::string, int>>
      expected_;                                 // name at each place of the last record, and its column
  std::vector<std::optional<BytesView>> found_;  // per column, of the current record
  std::vector<std::size_t> sizes_before_;        // per column; of ragged ones
};

/// "float32[512]", "bytes" (one value), "int64[any]", "int64[0 or 2]": a column as messages show it.
std::string describe_column(const Column& column);

}  // namespace headrace
