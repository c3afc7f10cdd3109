#pragma once

/// \file Reads a spill: docs/formats/rows.md. Of many at once: merged_rows.h.

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

/// Some rows of a split, ascending by order. One thread at a time; the reader must outlive it.
/// Memory: what was read of a store, and the cells of a row.
class RowRange {
 public:
  RowRange(RowRange&&) = default;
  RowRange& operator=(RowRange&&) = default;

  /// The next row; none at the end. What it borrows stays as long as the range does, but its cells only until
  /// the next call.
  /// \error kDataLoss  contradicts itself, though its checksums are right
  Result<std::optional<OrderedRow>> next();

 private:
  friend class RowsReader;
  RowRange() = default;

  BucketRead read_{};
  RowCursor cursor_{};
  std::vector<Cell> cells_{};
};

/// Thread-safe. Memory: 16 bytes for each bucket of its tables, 4,096 at most for a split; what is in memory.
class RowsReader {
 public:
  /// What is in memory; `name` is what messages call it. Reads nothing but its end.
  /// \error kDataLoss  not a spill, cut, or damaged
  static Result<RowsReader> open(Bytes object, std::string name);
  /// The same, of bytes that must outlive the reader.
  static Result<RowsReader> open(BytesView object, std::string name);
  /// An object of a store, that has `size_bytes`; `version` may be empty, for any. One request, two if its
  /// tables are uncommonly large.
  /// \error kDataLoss  not a spill, cut, or damaged, also when read again
  /// \error those of `Store::read_into`
  static Result<RowsReader> open(const Location& location, const Version& version, std::uint64_t size_bytes,
                                 const CallOptions& options = {});

  RowsReader(RowsReader&&) = default;
  RowsReader& operator=(RowsReader&&) = default;

  /// Ascending by name; none is empty.
  const std::vector<RowsSplit>& splits() const { return footer_.splits; }

  /// Ascending. One request. Memory: 56 bytes for each.
  /// \error kDataLoss, those of the store
  Result<std::vector<ContentHash>> content_hashes(const CallOptions& options = {}) const;

  /// The rows whose order lies in `range`; none of a split that it does not have. One request, for all of
  /// them. From memory: without a copy.
  /// \error kDataLoss  a checksum differs, also when read again
  /// \error those of `Store::read_many`
  Result<RowRange> read(std::string_view split, OrderRange range, const CallOptions& options = {}) const;

  /// For who reads many spills at once; null: it has no such split.
  const BucketTable* find_table(std::string_view split) const;
  const SpillObject& object() const { return *object_; }

 private:
  RowsReader() = default;
  static Result<RowsReader> open(std::unique_ptr<SpillObject> object, const CallOptions& options);

  Bytes owned_{};
  std::unique_ptr<SpillObject> object_;  // ranges borrow it, whatever becomes of the reader's place
  RowsFooter footer_{};
};

}  // namespace headrace
