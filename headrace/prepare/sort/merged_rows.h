#pragma once

/// \file The rows of many spills as one sequence, in the order of the dataset.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"
#include "headrace/prepare/sort/row_cursor.h"
#include "headrace/prepare/sort/rows_reader.h"

namespace headrace {

/// A spill and the number of its slice. Several spills may come from one slice.
struct SliceSpill {
  const RowsReader* reader = nullptr;
  std::uint32_t slice = 0;
};

struct MergedRow {
  OrderedRow row{};
  std::uint32_t slice = 0;
  std::uint32_t split = 0;  // index into the splits of the constructor
};

struct MergeOptions {
  OrderRange range{};
  /// Roughly how many bytes are read ahead from all spills together. Coarse tables may need more: one bucket
  /// of each split of each spill (some 16 KiB, or all rows of that split), plus a quarter of `hold_bytes` or
  /// a 4,096th of the splits.
  std::uint64_t hold_bytes = 16 << 20;
  /// The options of each request.
  CallOptions call{};
};

/// Merges the rows of spills, ascending by order, tie, id, slice, place. Not thread-safe. Reads piece by
/// piece of the order, each piece with one `read_many` for each store, and each bucket once. Memory:
/// `hold_bytes`, the cells of a row, and 300 bytes for each split of each spill.
///
///   MergedRows rows(spills, "train", {.range = {first, last}});
///   while (true) {
///     HEADRACE_TRY(const auto row, rows.next());
///     if (!row) break;
///     …
///   }
class MergedRows {
 public:
  /// The readers must outlive this object.
  MergedRows(std::span<const SliceSpill> spills, std::span<const std::string_view> splits,
             const MergeOptions& options = {});
  MergedRows(std::span<const SliceSpill> spills, std::string_view split, const MergeOptions& options = {})
      : MergedRows(spills, {&split, 1}, options) {}
  MergedRows(MergedRows&&) = default;

  /// The next row, valid until the next call; nullopt at the end. An error is returned again by every call.
  /// \error kDataLoss  a spill is damaged, even when it is read again, or contradicts itself
  /// \error as Store::read_many
  Result<std::optional<MergedRow>> next();

 private:
  // The rows of one split in one spill.
  struct Spill {
    const RowsReader* reader;
    std::uint32_t slice;
    std::uint32_t split;
    const BucketTable* table;
    std::size_t next_bucket;
    BucketRead read{};
    RowCursor cursor{};
    bool has_row = false;  // cursor.row() has not been returned yet
  };
  // A spill with the order of its next row. The smallest one is at the front.
  struct Candidate {
    std::uint64_t order;
    Spill* spill;
  };

  Result<std::optional<MergedRow>> find_next();
  Status replace_front();
  void sink_front();
  static bool comes_before(const Candidate& a, const Candidate& b);

  // A piece of the order is a 2^-level part of it.
  int choose_level() const;
  bool is_small(std::uint64_t last, int level) const;
  Status read_piece();
  Status read_up_to(std::uint64_t last);
  Result<bool> step(Spill& spill);

  const MergeOptions options_;
  std::vector<Spill> spills_;
  std::vector<Candidate> heap_;
  bool front_was_given_ = false;
  std::uint64_t piece_first_ = 0;
  std::uint64_t piece_last_ = 0;  // the last order that has been read
  bool is_last_piece_ = false;
  std::vector<Cell> cells_;
  std::optional<Error> failed_;
};

}  // namespace headrace
