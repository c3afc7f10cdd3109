#include "headrace/record/column.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error mismatch(const Column& column, std::string_view found) {
  return {Code::kInvalidArgument,
          concat("feature \"", column.name, "\": expected ", describe_column(column), ", ", found)};
}

// The column's default, or the empty value of its type.
template <typename T>
T default_of(const Column& column) {
  const T* value = std::get_if<T>(&column.default_value);
  return value != nullptr ? *value : T{};
}
template <>
BytesView default_of(const Column& column) {
  const auto* value = std::get_if<std::string>(&column.default_value);
  return value != nullptr ? as_bytes(*value) : BytesView();
}

// The index of the ColumnBuffer alternative that a column needs.
std::size_t buffer_index(const Column& column) {
  const std::size_t type = column.type == DataType::kFloat32 ? 0 : column.type == DataType::kInt64 ? 1 : 2;
  return column.length ? type : type + 3;
}

Status check_default(const Column& column) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt64, DataType::kBytes};
  const std::size_t index = column.default_value.index();
  if (index == 0 || (column.length && kTypes[index - 1] == column.type)) return {};
  return Error{Code::kInvalidArgument,
               concat("feature \"", column.name, "\": ", describe_column(column),
                      " cannot have a default of type ", data_type_name(kTypes[index - 1]))};
}

}  // namespace

std::string describe_column(const Column& column) {
  const std::string_view type = data_type_name(column.type);
  if (!column.length && column.count_if_present) return concat(type, "[0 or ", *column.count_if_present, "]");
  if (!column.length) return concat(type, "[any]");
  return *column.length == 1 ? std::string(type) : concat(type, "[", *column.length, "]");
}

std::vector<std::string> column_names(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

Status check_columns(const std::vector<Column>& columns) {
  for (const Column& column : columns) HEADRACE_CHECK(check_default(column));
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    if (names.insert(column.name).second) continue;
    return Error{Code::kInvalidArgument, concat("feature \"", column.name, "\" is selected twice")};
  }
  return {};
}

Status check_buffer(const Column& column, const ColumnBuffer& buffer) {
  if (buffer.index() == buffer_index(column)) return {};
  return Error{Code::kInvalidArgument,
               concat("feature \"", column.name, "\": the buffer is not for ", describe_column(column))};
}

Status fill_missing(const Column& column, const ColumnBuffer& buffer, std::size_t row) {
  if (column.required && column.default_value.index() == 0) {
    const std::string_view separator = column.advice.empty() ? "" : "; ";
    return mismatch(column, concat("but the example does not have it", separator, column.advice));
  }
  const std::size_t length = column.length.value_or(0);  // a ragged column gets an empty row
  const auto fill = [&]<typename T>(T* target) {
    std::fill_n(target + row * length, length, default_of<T>(column));
  };
  if (const auto* floats = std::get_if<float*>(&buffer)) fill(*floats);
  if (const auto* integers = std::get_if<std::int64_t*>(&buffer)) fill(*integers);
  if (const auto* texts = std::get_if<BytesView*>(&buffer)) fill(*texts);
  return {};
}

Error wrong_values(const Column& column, DataType type, std::size_t count) {
  return mismatch(column, concat("found ", data_type_name(type), "[", count, "]"));
}

}  // namespace headrace
