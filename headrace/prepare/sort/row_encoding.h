#pragma once

/// \file Rows as the bytes of docs/formats/rows.md, for this folder's own use.
/// Any thread; nothing is kept. What is read may be hostile: all sizes are compared with what is there.

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"

namespace headrace {

/// A row whose cells have not been looked at. Borrows what it was read from.
struct EncodedRow {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::string_view id{};
  RowPlace place{};
  BytesView cells{};
};

/// By order, tie, id.
std::strong_ordering compare_order(const EncodedRow& a, const EncodedRow& b);

inline constexpr std::size_t kMaxRowCells = 65'536;
/// That nothing is shorter than: size, order, tie, an empty id, the place.
inline constexpr std::size_t kMinRowBytes = 20;

/// Size of the row without the number that says it.
/// \error kInvalidArgument  too many cells, or numbers or a list that is cut
Result<std::size_t> row_body_bytes(const OrderedRow& row);
/// Writes that number and the row; gives the end of it. REQUIRES: `body_bytes` is of `row_body_bytes`, and
/// that many bytes and `varint_size(body_bytes)` are there.
std::byte* write_row(std::byte* to, const OrderedRow& row, std::size_t body_bytes);

/// Reads the row at `position` and moves behind it. False: there is none.
bool read_row(BytesView bytes, std::size_t& position, EncodedRow& row);
/// All cells of a row, instead of what was in `cells`. False: they are none. Memory: 100 bytes a cell.
bool read_cells(BytesView bytes, std::vector<Cell>& cells);

}  // namespace headrace
