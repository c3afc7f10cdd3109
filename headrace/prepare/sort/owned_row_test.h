#pragma once

/// \file For tests: rows that own their cells, random rows, and the rows of a spill.

#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/sort/rows_builder.h"
#include "headrace/prepare/sort/rows_reader.h"

namespace headrace {

struct OwnedCell {
  CellKind kind = CellKind::kMissing;
  std::string data{};  // for a reference: the URL
  std::string version{};
  std::optional<std::uint64_t> offset_bytes{};
  std::optional<std::uint64_t> size_bytes{};
  bool operator==(const OwnedCell&) const = default;
};

struct OwnedRow {
  std::uint64_t order = 0, tie = 0;
  std::string id{};
  RowPlace place{};
  std::vector<OwnedCell> cells{};
  std::uint32_t slice = 0;
  bool operator==(const OwnedRow&) const = default;

  auto rank() const { return std::tie(order, tie, id, slice, place); }
};

inline bool ranks_before(const OwnedRow& a, const OwnedRow& b) { return a.rank() < b.rank(); }

inline OwnedRow owned(const OrderedRow& row, std::uint32_t slice = 0) {
  OwnedRow out{row.order, row.tie, std::string(row.id), row.place, {}, slice};
  for (const Cell& cell : row.cells) {
    const Reference& reference = cell.reference;
    const bool is_reference = cell.kind == CellKind::kReference;
    out.cells.push_back({cell.kind, is_reference ? std::string(reference.url) : to_string(cell.data),
                         std::string(reference.version), reference.offset_bytes, reference.size_bytes});
  }
  return out;
}

inline Status add(RowsBuilder& builder, std::string_view split, const OwnedRow& row,
                  const std::optional<ContentDigest>& content = {}) {
  std::vector<Cell> cells;
  for (const OwnedCell& from : row.cells) {
    Cell& cell = cells.emplace_back();
    cell.kind = from.kind;
    if (from.kind == CellKind::kReference) {
      cell.reference = {from.data, from.version, from.offset_bytes, from.size_bytes};
    } else {
      cell.data = as_bytes(from.data);
    }
  }
  return builder.add(split, {row.order, row.tie, row.id, row.place, cells}, content);
}

inline Bytes make_spill(std::string_view split, const std::vector<OwnedRow>& rows) {
  RowsBuilder builder;
  for (const OwnedRow& row : rows) EXPECT_TRUE(add(builder, split, row));
  return std::move(builder).finish();
}

template <typename Random>
std::uint64_t below(Random& random, std::uint64_t limit) {
  return random() % limit;
}

template <typename Random>
OwnedCell random_cell(Random& random) {
  const auto bytes = [&](std::size_t unit) { return std::string(unit * below(random, 20), 'x'); };
  switch (below(random, 6)) {
    case 0:
      return {};
    case 1:
      return {CellKind::kBytes, bytes(1)};
    case 2: {
      OwnedCell cell{CellKind::kReference, "s3://a/b", below(random, 2) == 0 ? "" : "v1"};
      if (below(random, 2) == 0) cell.offset_bytes = random() >> below(random, 64);
      if (below(random, 2) == 0) cell.size_bytes = random() >> below(random, 64);
      return cell;
    }
    case 3:
      return {CellKind::kFloats, bytes(4)};
    case 4:
      return {CellKind::kInt64s, bytes(8)};
    default: {
      Bytes list;
      for (std::uint64_t i = below(random, 4); i > 0; --i) append_byte_string(list, as_bytes(bytes(1)));
      return {CellKind::kByteStrings, to_string(list)};
    }
  }
}

/// Rows in random order. An order has `order_bits` random bits; few bits give many ties.
template <typename Random>
std::vector<OwnedRow> random_rows(Random& random, std::size_t count, int order_bits = 64) {
  std::vector<OwnedRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    OwnedRow& row = rows[i];
    row.order = random() & ~(order_bits == 64 ? 0 : ~std::uint64_t{0} >> order_bits);
    row.tie = order_bits == 64 ? random() : below(random, 2);
    row.id = std::to_string(below(random, order_bits == 64 ? ~std::uint64_t{0} : 3));
    row.place = {static_cast<std::uint32_t>(i % 3), i};
    row.cells.resize(below(random, 4));
    for (OwnedCell& cell : row.cells) cell = random_cell(random);
  }
  return rows;
}

/// `take_all`: every row of a RowRange or MergedRows, or the error.
inline OwnedRow owned_of(const OrderedRow& row) { return owned(row); }
template <typename Row>
OwnedRow owned_of(const Row& row) {
  return owned(row.row, row.slice);
}
template <typename Rows>
Result<std::vector<OwnedRow>> take_all(Rows& rows) {
  std::vector<OwnedRow> out;
  while (true) {
    HEADRACE_TRY(const auto row, rows.next());
    if (!row) return out;
    out.push_back(owned_of(*row));
  }
}

inline Result<std::vector<OwnedRow>> read_rows(const RowsReader& reader, std::string_view split,
                                               OrderRange range = {}) {
  HEADRACE_TRY(RowRange rows, reader.read(split, range));
  return take_all(rows);
}

}  // namespace headrace
