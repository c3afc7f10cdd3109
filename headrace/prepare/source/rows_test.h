#pragma once

/// \file For tests of sources: files in memory, and rows as texts.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/byte_strings.h"
#include "headrace/prepare/source/row_parser.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {

/// Files of a store in memory, as a slice of them is.
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

/// "-" if it is missing, "'text'", "i[1 2]", "f[1.5]", "b['text' 'text']".
inline std::string cell_text(const Cell& cell) {
  if (cell.kind == CellKind::kBytes) return concat("'", as_text(cell.data), "'");
  if (cell.kind == CellKind::kInt64s) return concat("i[", numbers_text<std::int64_t>(cell.data), "]");
  if (cell.kind == CellKind::kFloats) return concat("f[", numbers_text<float>(cell.data), "]");
  if (cell.kind == CellKind::kByteStrings) return concat("b[", texts_text(cell.data), "]");
  return cell.kind == CellKind::kMissing ? "-" : "reference";
}

/// "file:row id column=cell …", or "file:row id rejected: reason: detail".
inline std::string row_text(const SourceRow& row) {
  std::string text = concat(row.place.file, ":", row.place.row, " ", row.id);
  if (row.verdict != RowVerdict::kRow) return concat(text, " rejected: ", row.reason, ": ", row.detail);
  for (const NamedCell& cell : row.cells) text += concat(" ", cell.name, "=", cell_text(cell.cell));
  return text;
}

/// What a source gives to its end, which may be an error: then its code and message come last.
inline std::vector<std::string> all_rows(RowSource& source) {
  std::vector<std::string> rows;
  while (true) {
    const auto row = source.next();
    if (!row) rows.push_back(concat(code_name(row.error().code), " ", row.error().message));
    if (!row || !*row) return rows;
    rows.push_back(row_text(**row));
  }
}

/// The same of a parser, fed with pieces of so many bytes; `check` is given each row.
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
      rows.push_back(row_text(**row));
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

}  // namespace headrace
