#pragma once

/// \file Reads a spill: docs/formats/rows.md. merged_rows.h reads many spills at once.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"
#include "headrace/prepare/sort/row_cursor.h"
#include "headrace/prepare/sort/rows_footer.h"
#include "headrace/prepare/sort/spill_object.h"
#include "headrace/store/location.h"

namespace headrace {

/// Some rows of a split, ascending by order. Not thread-safe. The reader must outlive it. Memory: the bytes
/// that were read from a store, and the cells of a row.
class RowRange {
 public:
  RowRange(RowRange&&) = default;
  RowRange& operator=(RowRange&&) = default;

  /// The next row; nullopt at the end. Its id is valid as long as the range, its cells only until the next
  /// call.
  /// \error kDataLoss  the rows contradict the footer, though their checksums are right
  Result<std::optional<OrderedRow>> next();

 private:
  friend class RowsReader;
  RowRange() = default;

  BucketRead read_{};
  RowCursor cursor_{};
  std::vector<Cell> cells_{};
};

/// Thread-safe. Memory: 16 bytes for each bucket of its tables (a split has at most 4,096), and the spill
/// itself if it is in memory.
class RowsReader {
 public:
  /// Opens a spill in memory. Messages call it `name`. Reads only the footer.
  /// \error kDataLoss  the bytes are not a spill, are truncated, or are damaged
  static Result<RowsReader> open(Bytes object, std::string name);
  /// The same for bytes that the caller owns; they must outlive the reader.
  static Result<RowsReader> open(BytesView object, std::string name);
  /// Opens a spill in a store: an object of `size_bytes`. An empty `version` accepts any version. Cost: one
  /// request, or two if the tables are unusually large.
  /// \error kDataLoss  the object is not a spill, truncated, or damaged, even when it is read again
  /// \error as Store::read_into
  static Result<RowsReader> open(const Location& location, const Version& version, std::uint64_t size_bytes,
                                 const CallOptions& options = {});

  RowsReader(RowsReader&&) = default;
  RowsReader& operator=(RowsReader&&) = default;

  /// The splits, ascending by name. Each has rows.
  const std::vector<RowsSplit>& splits() const { return footer_.splits; }

  /// All content hashes, ascending. Cost: one request. Memory: 72 bytes for each.
  /// \error kDataLoss  the hashes are damaged
  /// \error of the store
  Result<std::vector<ContentHash>> content_hashes(const CallOptions& options = {}) const;

  /// The rows of `split` with an order in `range`; no rows if the spill has no such split. Cost: one request
  /// for all rows; a spill in memory is not copied.
  /// \error kDataLoss  a checksum differs, even when the rows are read again
  /// \error as Store::read_many
  Result<RowRange> read(std::string_view split, OrderRange range, const CallOptions& options = {}) const;

  /// The table of a split, for reading many spills at once. Null if the spill has no such split.
  const BucketTable* find_table(std::string_view split) const;
  const SpillObject& object() const { return *object_; }

 private:
  RowsReader() = default;
  static Result<RowsReader> open(std::unique_ptr<SpillObject> object, const CallOptions& options);

  Bytes owned_{};
  std::unique_ptr<SpillObject> object_;  // ranges borrow it; it does not move with the reader
  RowsFooter footer_{};
};

}  // namespace headrace
