#pragma once

/// \file Iterates over rows that have been read. Only for use in this folder.

#include <cstdint>

#include "headrace/prepare/sort/row_encoding.h"
#include "headrace/prepare/sort/rows_footer.h"
#include "headrace/prepare/sort/spill_object.h"

namespace headrace {

/// A range of orders, both ends included.
struct OrderRange {
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
};

class RowCursor {
 public:
  /// A cursor at its end.
  RowCursor() = default;
  /// Iterates over the rows of `read` that lie in `range`. Borrows the object and data of `read`.
  /// REQUIRES: `read` has been read, has at least one bucket, and its buckets are those of `table` from
  /// `first_bucket` on
  RowCursor(const BucketRead& read, const BucketTable& table, std::size_t first_bucket, OrderRange range);

  /// Moves to the next row; false at the end.
  /// \error kDataLoss  the bytes are not rows in ascending order, in the number and place that the table says
  Result<bool> next();
  /// REQUIRES: next() returned true
  const EncodedRow& row() const { return row_; }
  /// Parses the cells of the row. REQUIRES: next() returned true
  /// \error kDataLoss  the bytes are not cells
  Status read_cells(std::vector<Cell>& cells) const;

 private:
  Error damaged(std::size_t position, std::string_view what) const;

  const SpillObject* object_ = nullptr;
  BytesView data_{};
  std::uint64_t offset_bytes_ = 0;  // of data_
  std::size_t position_ = 0;
  std::size_t row_position_ = 0;
  std::uint64_t rows_left_ = 0;
  OrderRange range_{};
  OrderRange possible_{};  // the orders that the next row may have
  EncodedRow row_{};
};

}  // namespace headrace
