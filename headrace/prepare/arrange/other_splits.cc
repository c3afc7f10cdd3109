#include "headrace/prepare/arrange/other_splits.h"

#include <tuple>
#include <utility>

namespace headrace {
namespace {

constexpr std::uint64_t kHoldBytes = 4 << 20;

}  // namespace

OtherSplits::OtherSplits(std::span<const SliceSpill> spills, std::vector<std::string_view> splits,
                         OrderRange range, const CallOptions& call)
    : splits_(std::move(splits)),
      rows_(spills, splits_, {.range = range, .hold_bytes = kHoldBytes, .call = call}) {}

Result<std::optional<OtherSplits::Match>> OtherSplits::find(std::uint64_t order, std::uint64_t tie,
                                                            std::string_view id) {
  const auto wanted = std::tie(order, tie, id);
  while (!has_ended_ && (!row_ || std::tie(row_->row.order, row_->row.tie, row_->row.id) < wanted)) {
    HEADRACE_TRY(row_, rows_.next());
    has_ended_ = !row_;
  }
  if (!row_ || row_->row.id != id) return std::optional<Match>();
  return std::optional<Match>({splits_[row_->split], row_->slice, row_->row.place});
}

}  // namespace headrace
