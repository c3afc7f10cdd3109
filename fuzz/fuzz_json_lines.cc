#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/script.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/table/json_lines_source.h"
#include "headrace/prepare/table/rows_test.h"

namespace {

using headrace::BytesView;
using headrace::Cell;
using headrace::CellKind;
using headrace::RowVerdict;
using headrace::SourceRow;
using nlohmann::json;

constexpr std::uint64_t kCellLimitBytes = 200;

template <typename Number>
void check_numbers(const Cell& cell, const json& value) {
  const json list = value.is_array() ? value : json::array({value});
  if (cell.data.size() != list.size() * sizeof(Number)) std::abort();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto number = headrace::load_little_endian<Number>(cell.data.data() + i * sizeof(Number));
    const Number expected = list[i].is_boolean() ? Number{list[i].get<bool>()} : list[i].get<Number>();
    if (number != expected) std::abort();
  }
}

bool is_list_of_texts(const json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_string(); });
}

void check_texts(BytesView rest, const json& list) {
  for (const json& item : list) {
    const auto text = headrace::take_byte_string(rest);
    if (!text || headrace::as_text(*text) != item.get_ref<const std::string&>()) std::abort();
  }
  if (!rest.empty()) std::abort();
}

void check_cell(const Cell& cell, const json& value) {
  if ((cell.kind == CellKind::kMissing) != value.is_null()) std::abort();
  if (cell.data.size() > kCellLimitBytes) std::abort();
  if ((cell.kind == CellKind::kByteStrings) != is_list_of_texts(value)) std::abort();
  if (cell.kind == CellKind::kByteStrings) check_texts(cell.data, value);
  if (cell.kind == CellKind::kInt64s) check_numbers<std::int64_t>(cell, value);
  // nlohmann's go by double: of those that lie close to the middle of two floats, it has the other.
  if (cell.kind == CellKind::kFloats && !value.is_number() && !value.is_array()) std::abort();
  if (cell.kind == CellKind::kBytes) {
    const std::string_view text = headrace::as_text(cell.data);
    if (value.is_string() ? text != value.get_ref<const std::string&>() : json::parse(text) != value)
      std::abort();
  }
}

// A row must be what the whole parser makes of the line.
void check_row(const SourceRow& row, std::string_view content) {
  const auto offset = headrace::parse_number<std::size_t>(row.id.substr(row.id.rfind('@') + 1));
  if (!offset || *offset > content.size() || (*offset > 0 && content[*offset - 1] != '\n')) std::abort();
  if (row.verdict != RowVerdict::kRow) {
    if (!row.cells.empty() || row.reason.empty() || row.detail.empty()) std::abort();
    return;
  }
  const std::string_view line = content.substr(*offset, content.find('\n', *offset) - *offset);
  const json object = json::parse(line);
  if (!object.is_object() || object.size() != row.cells.size()) std::abort();
  for (const auto& [name, cell] : row.cells) check_cell(cell, object.at(std::string(name)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::size_t piece_bytes = 1 + script.byte();
  const std::string_view content = headrace::as_text(script.take(size));
  const auto parser = headrace::make_json_lines_parser(kCellLimitBytes);
  const auto rows = headrace::parsed_rows(*parser, content, content.size(),
                                          [&](const SourceRow& row) { check_row(row, content); });
  if (headrace::parsed_rows(*parser, content, piece_bytes) != rows) std::abort();
  return 0;
}
