#pragma once

/// \file The rows of many spills as one sequence, in the order of the data set.

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

/// A spill, and the number of the slice that it was made of. Several may have the same.
struct SliceSpill {
  const RowsReader* reader = nullptr;
  std::uint32_t slice = 0;
};

struct MergedRow {
  OrderedRow row{};
  std::uint32_t slice = 0;
  std::uint32_t split = 0;  // its number among those that were asked for
};

struct MergeOptions {
  OrderRange range{};
  /// About how much is read ahead, of all spills together. Where tables are too coarse it may be more: up to
  /// a quarter of it, or a 4,096th of the splits, and a bucket of each split of each spill (some 16 KiB, or
  /// all that the spill has of it).
  std::uint64_t hold_bytes = 16 << 20;
  /// Of each request.
  CallOptions call{};
};

/// Ascending by order, tie, id, slice, place. One thread at a time. Reads the order piece after piece, each
/// piece with one `read_many` for each store, and each bucket once. Memory: hold_bytes, the cells of a row,
/// 300 bytes for each split of each spill.
///
///   MergedRows rows(spills, "train", {.range = {first, last}});
///   while (true) {
///     HEADRACE_TRY(const auto row, rows.next());
///     if (!row) break;
///     …
///   }
class MergedRows {
 public:
  /// The readers must outlive it.
  MergedRows(std::span<const SliceSpill> spills, std::span<const std::string_view> splits,
             const MergeOptions& options = {});
  MergedRows(std::span<const SliceSpill> spills, std::string_view split, const MergeOptions& options = {})
      : MergedRows(spills, {&split, 1}, options) {}
  MergedRows(MergedRows&&) = default;

  /// The next row, valid until the next call; none at the end. After an error: the same again.
  /// \error kDataLoss  a spill is damaged, also when read again, or contradicts itself
  /// \error those of `Store::read_many`
  Result<std::optional<MergedRow>> next();

 private:
  // What a spill has of one split.
  struct Spill {
    const RowsReader* reader;
    std::uint32_t slice;
    std::uint32_t split;
    const BucketTable* table;
    std::size_t next_bucket;
    BucketRead read{};
    RowCursor cursor{};
    bool has_row = false;  // cursor.row() has not been given
  };
  // A spill by its next row, the least of them at the front.
  struct Candidate {
    std::uint64_t order;
    Spill* spill;
  };

  Result<std::optional<MergedRow>> find_next();
  Status replace_front();
  void sink_front();
  static bool comes_before(const Candidate& a, const Candidate& b);

  // Pieces: of the order, a 2^-level of it.
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
  std::uint64_t piece_last_ = 0;  // of what has been read
  bool is_last_piece_ = false;
  std::vector<Cell> cells_;
  std::optional<Error> failed_;
};

}  // namespace headrace
