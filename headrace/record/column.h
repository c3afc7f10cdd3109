#pragma once

/// \file The features that are wanted of every record, and where their values go.

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

/// The value for a feature that an example lacks; `monostate`: no value was given.
using DefaultValue = std::variant<std::monostate, float, std::int64_t, std::string>;

/// A feature that is wanted of every record.
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
/// strings view the record, or what the decoder keeps.
using ColumnBuffer = std::variant<float*, std::int64_t*, BytesView*, std::vector<float>*,
                                  std::vector<std::int64_t>*, std::vector<BytesView>*>;

/// "float32[512]", "bytes" (one value), "int64[any]", "int64[0 or 2]": a column as messages show it.
std::string describe_column(const Column& column);

std::vector<std::string> column_names(const std::vector<Column>& columns);

/// \error kInvalidArgument  two columns of one name; a default of another type, or of a ragged column
Status check_columns(const std::vector<Column>& columns);

/// \error kInvalidArgument  a buffer of another alternative than the column needs
Status check_buffer(const Column& column, const ColumnBuffer& buffer);

/// Gives a row what stands for a feature that a record lacks.
/// \error kInvalidArgument  the column is required and has no default
Status fill_missing(const Column& column, const ColumnBuffer& buffer, std::size_t row);

/// The error about a record that has `count` values of `type` in place of what the column wants.
Error wrong_values(const Column& column, DataType type, std::size_t count);

/// The vector of a ragged column, as what can be asked for its size and cut back to it.
template <typename Use>
void with_ragged(const ColumnBuffer& buffer, Use&& use) {
  if (const auto* floats = std::get_if<3>(&buffer)) use(**floats);
  if (const auto* integers = std::get_if<4>(&buffer)) use(**integers);
  if (const auto* texts = std::get_if<5>(&buffer)) use(**texts);
}

}  // namespace headrace
