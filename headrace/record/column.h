#pragma once

/// \file The features to decode from every record, and the buffers for their values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/data_type.h"
#include "headrace/base/result.h"

namespace headrace {

/// The value for a feature that an example lacks. `monostate`: no value was given.
using DefaultValue = std::variant<std::monostate, float, std::int64_t, std::string>;

/// A feature to decode from every record.
struct Column {
  std::string name;
  DataType type = DataType::kFloat32;
  /// The number of values per example. None: any number; the column is "ragged".
  std::optional<std::uint32_t> length{};
  /// True: it is an error if an example lacks the feature, or has it without a kind, as protobuf allows. With
  /// a default value it is never an error.
  bool required = true;
  /// The value that stands for each of the `length` values if the feature is absent. It must have the
  /// column's type. Without it, zeros or empty byte strings stand for them. A ragged column has no default;
  /// its row is empty.
  DefaultValue default_value{};
  /// The end of the message about an example that lacks the feature; says what to do. May be empty.
  std::string advice{};
  /// For a ragged column: the number of values in an example that has any. None: any number.
  std::optional<std::uint32_t> count_if_present{};
};

/// The target of a column's values. With a fixed length n, it points to the first value of row 0, and row r
/// begins n·r values after that. For a ragged column, values are appended to a vector, and the caller notes
/// its size after each row. Byte strings view the record, the column's default, or memory that the decoder
/// keeps.
using ColumnBuffer = std::variant<float*, std::int64_t*, BytesView*, std::vector<float>*,
                                  std::vector<std::int64_t>*, std::vector<BytesView>*>;

/// A column as messages show it: "float32[512]", "bytes" (one value), "int64[any]", "int64[0 or 2]".
std::string describe_column(const Column& column);

std::vector<std::string> column_names(const std::vector<Column>& columns);

/// \error kInvalidArgument  two columns have one name; a default has another type than its column, or belongs
///                          to a ragged column
Status check_columns(const std::vector<Column>& columns);

/// \error kInvalidArgument  the buffer is not the alternative that the column needs
Status check_buffer(const Column& column, const ColumnBuffer& buffer);

/// Fills a row for a record that lacks the feature, as `Column::default_value` says.
/// \error kInvalidArgument  the column is required and has no default
Status fill_missing(const Column& column, const ColumnBuffer& buffer, std::size_t row);

/// The error about a record that has `count` values of `type`, which the column does not allow.
Error wrong_values(const Column& column, DataType type, std::size_t count);

/// Calls `use` with the vector of a ragged column, of whichever type. Does nothing for other columns.
template <typename Use>
void with_ragged(const ColumnBuffer& buffer, Use&& use) {
  if (const auto* floats = std::get_if<3>(&buffer)) use(**floats);
  if (const auto* integers = std::get_if<4>(&buffer)) use(**integers);
  if (const auto* texts = std::get_if<5>(&buffer)) use(**texts);
}

}  // namespace headrace
