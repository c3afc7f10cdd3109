#pragma once

/// \file For tests: a store in memory, its objects as an input, and all their rows. Include gtest before it.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/source/input.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/store/registry.h"

namespace headrace {

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
    read.rows.push_back(row_text(**row, &stores));
  }
  read.consumed_bytes = source.consumed_bytes();
  return read;
}

/// A fixture with a memory store: puts objects into it and reads them as an input.
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
    const auto source = open_slice(input, slice, stores_, {.cell_limit_bytes = limit_bytes});
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

}  // namespace headrace
