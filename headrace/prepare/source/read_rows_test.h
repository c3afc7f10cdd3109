#pragma once

/// \file For tests: a source's rows as text, with what they refer to fetched. Include gtest before it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

inline std::string cell_text(const Cell& cell, StoreRegistry& stores) {
  switch (cell.kind) {
    case CellKind::kBytes:
      return std::string(as_text(cell.data));
    case CellKind::kInt64s:
      return concat('#', load_little_endian<std::int64_t>(cell.data.data()));
    case CellKind::kReference: {
      const Reference& reference = cell.reference;
      const auto location = stores.open(reference.url);
      if (!location || !reference.size_bytes) return "a reference without its object or size";
      Bytes data(*reference.size_bytes);
      const Status read = read_exactly(*location->store, location->key, data,
                                       {.offset_bytes = reference.offset_bytes.value_or(0),
                                        .if_version = Version{std::string(reference.version)}});
      return read ? to_string(data) : read.error().message;
    }
    default:
      return "-";
  }
}

// "id: column=value …", or "rejected id: reason, detail".
inline std::string row_text(const SourceRow& row, StoreRegistry& stores) {
  if (row.verdict != RowVerdict::kRow)
    return concat(row.verdict == RowVerdict::kIgnored ? "ignored " : "rejected ", row.id, ": ", row.reason,
                  row.detail.empty() ? "" : ", ", row.detail);
  std::string text = concat(row.id, ':');
  for (const NamedCell& cell : row.cells) text += concat(' ', cell.name, '=', cell_text(cell.cell, stores));
  return text;
}

struct RowsRead {
  std::vector<std::string> rows;
  Status status{};
  std::uint64_t references = 0;
  std::uint64_t consumed_bytes = 0;
};

inline RowsRead read_rows(RowSource& source, StoreRegistry& stores) {
  RowsRead read;
  RowPlace last{};
  while (true) {
    const auto row = source.next();
    if (!row) read.status = row.error();
    if (!row || !*row) break;
    EXPECT_LT(last, (*row)->place) << "places ascend";
    last = (*row)->place;
    for (const NamedCell& cell : (*row)->cells) read.references += cell.cell.kind == CellKind::kReference;
    read.rows.push_back(row_text(**row, stores));
  }
  read.consumed_bytes = source.consumed_bytes();
  return read;
}

/// A memory store with objects, and what is in it as an input.
class SourceTest : public testing::Test {
 protected:
  void put(const std::string& key, BytesView data) {
    const auto written = store().write(key, data, {});
    ASSERT_TRUE(written) << written.error().message;
  }
  void put(const std::string& key, std::string_view text) { put(key, as_bytes(text)); }
  Store& store() { return *at("").store; }
  Location at(const std::string& key) { return *stores_.open(concat("memory://test/", key)); }

  Result<Input> find(const std::string& key, InputFormat format, const SliceLimits& limits = {}) {
    return find_input(at(key), format, limits);
  }

  RowsRead read_slice(const Input& input, const Slice& slice, std::uint64_t limit_bytes = kCellLimitBytes) {
    const auto source = open_slice(input, slice, stores_, limit_bytes);
    if (!source) return {.status = source.error()};
    return read_rows(**source, stores_);
  }

  // All slices, one after another, up to an error.
  RowsRead read(const std::string& key, InputFormat format, std::uint64_t limit_bytes = kCellLimitBytes) {
    RowsRead all;
    const auto input = find(key, format);
    if (!input) return {.status = input.error()};
    for (const Slice& slice : input->slices) {
      RowsRead part = read_slice(*input, slice, limit_bytes);
      all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
      all.references += part.references;
      all.consumed_bytes += part.consumed_bytes;
      all.status = std::move(part.status);
      if (!all.status) break;
    }
    return all;
  }

  StoreRegistry stores_{Environment{}};
};

using Lines = std::vector<std::string>;

}  // namespace headrace
