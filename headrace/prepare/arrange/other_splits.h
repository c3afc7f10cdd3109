#pragma once

/// \file Finds ids that also occur in another split. docs/prepare.md, "Repeated ids".

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/prepare/sort/merged_rows.h"

namespace headrace {

/// Reads the rows of some splits in step with a merge of another split. Equal ids have equal orders, so one
/// pass finds them. Not thread-safe. Memory: that of a MergedRows that holds 4 MiB.
class OtherSplits {
 public:
  /// The readers of `spills`, and the names, must outlive this object.
  OtherSplits(std::span<const SliceSpill> spills, std::vector<std::string_view> splits, OrderRange range,
              const CallOptions& call);

  struct Match {
    std::string_view split;
    std::uint32_t slice = 0;
    RowPlace place{};
  };
  /// The first row with this id; nullopt if there is none.
  /// REQUIRES: calls are in the order of the dataset
  /// \error as MergedRows::next
  Result<std::optional<Match>> find(std::uint64_t order, std::uint64_t tie, std::string_view id);

 private:
  const std::vector<std::string_view> splits_;
  MergedRows rows_;
  std::optional<MergedRow> row_{};
  bool has_ended_ = false;
};

}  // namespace headrace
