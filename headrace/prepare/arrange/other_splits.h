#pragma once

/// \file Ids that rows of another split have too. docs/prepare.md, "Repeated ids".

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/prepare/sort/merged_rows.h"

namespace headrace {

/// Rows of some splits beside those of another one that are being merged: equal ids are at equal places of
/// the order. One thread at a time. Memory: that of MergedRows which hold 4 MiB.
class OtherSplits {
 public:
  /// The readers of `spills`, and the names, must outlive it.
  OtherSplits(std::span<const SliceSpill> spills, std::vector<std::string_view> splits, OrderRange range,
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
  const std::vector<std::string_view> splits_;
  MergedRows rows_;
  std::optional<MergedRow> row_{};
  bool has_ended_ = false;
};

}  // namespace headrace
