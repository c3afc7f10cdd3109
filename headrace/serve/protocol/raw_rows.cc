#include "headrace/serve/protocol/raw_rows.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_tensor.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

// Whether JSON has a form for all elements.
template <typename T>
bool are_finite(const TensorView& tensor, std::uint64_t first, std::uint64_t count) {
  const auto* next = static_cast<const std::byte*>(tensor.data) + first * sizeof(T);
  for (std::uint64_t i = 0; i < count; ++i, next += sizeof(T)) {
    T value;
    std::memcpy(&value, next, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

RawRowsWriter::RawRowsWriter(const ServedSignature& signature, std::string_view word) : word_(word) {
  for (const ServedColumn& column : signature.columns) {
    Column& added = columns_[column.name];
    added.column = &column;
    append_json_text(added.quoted_name, column.name);
    if (column.is_needed) ++needed_;
  }
}

std::string RawRowsWriter::place() const { return concat(word_, ' ', texts_.ends.size()); }

std::string RawRowsWriter::column_names() const {
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_)
    names.push_back(concat(name, column.column->is_needed ? "" : " (optional)"));
  return join(names, ", ");
}

Result<std::string_view> RawRowsWriter::only_column() const {
  if (columns_.size() == 1) return columns_.begin()->first;
  std::vector<std::string_view> needed;
  for (const auto& [name, column] : columns_) {
    if (column.column->is_needed) needed.push_back(name);
  }
  if (needed.size() == 1) return needed.front();
  return Error{Code::kInvalidArgument, concat(place(),
                                              " is a value without a column's name: send an object "
                                              "with the columns ",
                                              column_names())};
}

void RawRowsWriter::begin_row() {
  texts_.text += '{';
  needed_in_row_ = 0;
}

Status RawRowsWriter::begin_member(std::string_view name) {
  Column& column = columns_.find(name)->second;
  const std::uint64_t row = texts_.ends.size() + 1;
  if (column.seen_in_row == row)
    return Error{Code::kInvalidArgument, concat(place(), " has the column ", name, " twice")};
  column.seen_in_row = row;
  if (column.column->is_needed) ++needed_in_row_;
  if (texts_.text.back() != '{') texts_.text += ',';
  texts_.text += column.quoted_name;
  texts_.text += ':';
  return {};
}

Status RawRowsWriter::add(std::string_view name, const JsonNode& value) {
  HEADRACE_CHECK(begin_member(name));
  if (append_json_node(texts_.text, value)) return {};
  return Error{Code::kInvalidArgument,
               concat(place(), ", column ", name,
                      ": NaN and infinities cannot be sent in a row of columns; leave "
                      "the column out, or send null")};
}

Status RawRowsWriter::add(std::string_view name, const TensorView& tensor, std::uint64_t first,
                          const Shape& shape) {
  HEADRACE_CHECK(begin_member(name));
  const std::uint64_t count = shape.elements();
  const bool is_finite = tensor.type == DataType::kFloat32   ? are_finite<float>(tensor, first, count)
                         : tensor.type == DataType::kFloat64 ? are_finite<double>(tensor, first, count)
                                                             : true;
  if (!is_finite)
    return Error{Code::kInvalidArgument, concat(place(), ", column ", name,
                                                ": NaN and infinities cannot be sent in a row of columns")};
  const bool is_image = columns_.find(name)->second.column->is_image;
  return append_json_tensor(texts_.text, tensor, first,
                            shape.sizes().size() == 1 && count == 1 ? Shape() : shape,
                            is_image ? JsonBytesForm::kBase64 : JsonBytesForm::kText);
}

Status RawRowsWriter::end_row() {
  const std::uint64_t row = texts_.ends.size() + 1;
  for (const auto& [name, column] : columns_) {
    if (needed_in_row_ == needed_) break;
    if (column.column->is_needed && column.seen_in_row != row)
      return Error{Code::kInvalidArgument,
                   concat(place(), " lacks the column ", name, "; the columns are ", column_names())};
  }
  texts_.text += '}';
  texts_.ends.push_back(texts_.text.size());
  return {};
}

void RawRowsWriter::add_text(std::string_view row) {
  texts_.text += row;
  texts_.ends.push_back(texts_.text.size());
}

Status RawRowsWriter::add_row(const JsonNode& value) {
  begin_row();
  if (!value.is_object() || (is_json_base64(value) && !has_column("b64"))) {
    HEADRACE_TRY(const std::string_view column, only_column());
    HEADRACE_CHECK(add(column, value));
    return end_row();
  }
  const std::vector<JsonNodeMember> members = value.members();
  if (members.size() == 1 && members[0].name == kRawRowsInput && !has_column(kRawRowsInput) &&
      members[0].value.is_string()) {
    texts_.text.pop_back();
    add_text(members[0].value.text());
    return {};
  }
  bool has_known = false;
  for (const JsonNodeMember& member : members) {
    if (!has_column(member.name)) continue;
    has_known = true;
    HEADRACE_CHECK(add(member.name, member.value));
  }
  if (!has_known && !members.empty())
    return Error{Code::kInvalidArgument,
                 concat(place(), " has none of the columns: it has ", printable_line(members[0].name, 60),
                        ", the columns are ", column_names())};
  return end_row();
}

Result<std::unique_ptr<BoundRequest>> RawRowsWriter::finish() && {
  if (texts_.ends.empty())
    return Error{Code::kInvalidArgument, concat("the request has no ", word_, ": send at least one")};
  return std::unique_ptr<BoundRequest>(
      std::make_unique<TextRows>(std::make_shared<const TextList>(std::move(texts_))));
}

}  // namespace headrace
