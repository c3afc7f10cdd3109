#pragma once

/// \file The encoding of rows in docs/formats/rows.md. For this folder's own use. Functions may run in any
/// thread. They accept hostile input: every size is compared with the bytes that are there.

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"

namespace headrace {

/// A row whose cells have not been parsed. Borrows the bytes that it was read from.
struct EncodedRow {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::string_view id{};
  RowPlace place{};
  BytesView cells{};
};

/// Compares by order, tie, id.
std::strong_ordering compare_order(const EncodedRow& a, const EncodedRow& b);

inline constexpr std::size_t kMaxRowCells = 65'536;
/// Smallest size of an encoded row: size, order, tie, an empty id, the place.
inline constexpr std::size_t kMinRowBytes = 20;

/// Size of the encoded row without its leading size field.
/// \error kInvalidArgument  too many cells, or numbers or a list that is cut off
Result<std::size_t> row_body_bytes(const OrderedRow& row);
/// Writes the size field and the row; returns the end of what was written.
/// REQUIRES: `body_bytes` is row_body_bytes(row), and `to` has room for it and `varint_size(body_bytes)` more
std::byte* write_row(std::byte* to, const OrderedRow& row, std::size_t body_bytes);

/// Reads the row at `position` and moves `position` behind it. Returns false if no whole row is there.
bool read_row(BytesView bytes, std::size_t& position, EncodedRow& row);
/// Replaces `cells` by all cells of a row. Returns false if they are not cells. Memory: 100 bytes a cell.
bool read_cells(BytesView bytes, std::vector<Cell>& cells);

}  // namespace headrace
