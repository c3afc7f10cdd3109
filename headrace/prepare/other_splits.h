#pragma once

/// \file Ids that rows of another split have too. docs/prepare.md, "Repeated ids".

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/prepare/arrange.h"
#include "headrace/prepare/rows/merged_rows.h"

namespace headrace {

/// The splits whose rows stay where one of `split` has the same id: those with fewer rows, or as many and a
/// name before. None if the plan gives rows of one id the same split.
std::vector<std::string_view> splits_before(const PreparePlan& plan, const Arrangement& arrangement,
                                            std::string_view split);

/// Rows of some splits beside those of another one that are being merged: equal ids are at equal places of
/// the order. One thread at a time. Memory: 4 MiB of rows, and what MergedRows says of coarse tables.
class OtherSplits {
 public:
  /// The readers of `runs`, and the names, must outlive it.
  OtherSplits(std::span<const SliceRun> runs, std::span<const std::string_view> splits, OrderRange range,
              const CallOptions& call);

  struct Match {
    std::string_view split;
    std::uint32_t slice = 0;
    RowPlace place{};
  };
  /// The first row that has an id.
  /// REQUIRES: rows are asked for in the order of the data set
  /// \error those of `MergedRows::next`
  Result<std::optional<Match>> find(std::uint64_t order, std::uint64_t tie, std::string_view id);

 private:
  struct Other {
    std::string_view split;
    MergedRows rows;
    std::optional<MergedRow> row{};
    bool has_ended = false;
  };
  std::vector<Other> others_;
};

}  // namespace headrace
