#pragma once

/// \file For tests and fuzzers: files in memory as an input, and the rows of a source as texts.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/table/row_parser.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Files in a memory store, in the form that a slice has them.
struct FilesInMemory {
  std::shared_ptr<Store> store = make_memory_store("test");
  std::vector<SourceFile> files{};

  FilesInMemory& add(const std::string& name, std::string_view content) {
    const std::string key = "input/" + name;
    const ObjectInfo object = *write_text(*store, key, content);
    files.push_back({.location = {.store = store, .key = key, .url = {"memory", "test", key}},
                     .size_bytes = object.size_bytes,
                     .version = object.version,
                     .name = name});
    return *this;
  }
};

template <typename Number>
std::string numbers_text(BytesView data) {
  std::string text;
  for (std::size_t at = 0; at < data.size(); at += sizeof(Number))
    text += concat(at == 0 ? "" : " ", load_little_endian<Number>(data.data() + at));
  return text;
}

inline std::string texts_text(BytesView data) {
  std::string text;
  while (const auto value = take_byte_string(data))
    text += concat(text.empty() ? "'" : " '", as_text(*value), "'");
  return text;
}

/// "-" for a missing cell, "'text'", "i[1 2]", "f[1.5]", "b['text' 'text']".
inline std::string cell_text(const Cell& cell) {
  if (cell.kind == CellKind::kBytes) return concat("'", as_text(cell.data), "'");
  if (cell.kind == CellKind::kInt64s) return concat("i[", numbers_text<std::int64_t>(cell.data), "]");
  if (cell.kind == CellKind::kFloats) return concat("f[", numbers_text<float>(cell.data), "]");
  if (cell.kind == CellKind::kByteStrings) return concat("b[", texts_text(cell.data), "]");
  return cell.kind == CellKind::kMissing ? "-" : "reference";
}

/// As above, but follows a reference and shows its bytes.
inline std::string cell_text(const Cell& cell, StoreRegistry& stores) {
  if (cell.kind != CellKind::kReference) return cell_text(cell);
  const Reference& reference = cell.reference;
  const auto location = stores.open(reference.url);
  if (!location || !reference.size_bytes) return "a reference without its object or size";
  Bytes data(*reference.size_bytes);
  const Status read = read_exactly(*location->store, location->key, data,
                                   {.offset_bytes = reference.offset_bytes.value_or(0),
                                    .if_version = Version{std::string(reference.version)}});
  return read ? concat("'", as_text(data), "'") : read.error().message;
}

/// "id column=cell …", or "id rejected: reason: detail". Follows references if `stores` is given.
inline std::string row_text(const SourceRow& row, StoreRegistry* stores = nullptr) {
  std::string text(row.id);
  if (row.verdict != RowVerdict::kRow)
    return concat(text, row.verdict == RowVerdict::kIgnored ? " ignored: " : " rejected: ", row.reason,
                  row.detail.empty() ? "" : ": ", row.detail);
  for (const NamedCell& cell : row.cells)
    text += concat(" ", cell.name, "=", stores ? cell_text(cell.cell, *stores) : cell_text(cell.cell));
  return text;
}

/// As row_text, after "file:row".
inline std::string placed_text(const SourceRow& row) {
  return concat(row.place.file, ":", row.place.row, " ", row_text(row));
}

/// All rows of a source. If it ends with an error, the error's code and message come last.
inline std::vector<std::string> all_rows(RowSource& source) {
  std::vector<std::string> rows;
  while (true) {
    const auto row = source.next();
    if (!row) rows.push_back(concat(code_name(row.error().code), " ", row.error().message));
    if (!row || !*row) return rows;
    rows.push_back(placed_text(**row));
  }
}

/// As all_rows, for a parser that gets pieces of `piece_bytes`; calls `check` with each row.
inline std::vector<std::string> parsed_rows(
    RowParser& parser, std::string_view content, std::size_t piece_bytes,
    const std::function<void(const SourceRow&)>& check = [](const SourceRow&) {}) {
  std::vector<std::string> rows;
  parser.begin_file("memory://test/f", "f", 0);
  for (bool is_ended = false;;) {
    const auto row = parser.next();
    if (!row) rows.push_back(concat(code_name(row.error().code), " ", row.error().message));
    if (!row || (!*row && is_ended)) return rows;
    if (*row) {
      check(**row);
      rows.push_back(placed_text(**row));
      continue;
    }
    parser.feed(as_bytes(content.substr(0, piece_bytes)));
    content.remove_prefix(std::min(piece_bytes, content.size()));
    is_ended = content.empty();
    if (is_ended) parser.end_file();
  }
}

inline std::string gzipped(std::string_view content) {
  return to_string(*gzip_compress(as_bytes(content), 6));
}

using Lines = std::vector<std::string>;

}  // namespace headrace
