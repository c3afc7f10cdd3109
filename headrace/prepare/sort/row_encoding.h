#pragma once

/// \file The encoding of rows in docs/formats/rows.md. Only for use in this folder. Functions are
/// thread-safe. They accept hostile input: every size is compared with the bytes that are there.

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"

namespace headrace {

/// A row whose cells have not been parsed. Borrows the bytes from which it was read.
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
/// \error kInvalidArgument  too many cells, or truncated numbers or lists
Result<std::size_t> row_body_bytes(const OrderedRow& row);
/// Writes the size field and the row. Returns the end of the written bytes.
/// REQUIRES: `body_bytes` is row_body_bytes(row), and `to` has room for it and its size field
std::byte* write_row(std::byte* to, const OrderedRow& row, std::size_t body_bytes);

/// Reads the row at `position` and moves `position` behind it. Returns false if no complete row is there.
bool read_row(BytesView bytes, std::size_t& position, EncodedRow& row);
/// Replaces `cells` by all cells of a row. Returns false if they are not cells. Memory: 100 bytes a cell.
bool read_cells(BytesView bytes, std::vector<Cell>& cells);

}  // namespace headrace
