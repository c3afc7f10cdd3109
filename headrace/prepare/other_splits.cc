#include "headrace/prepare/other_splits.h"

#include <algorithm>
#include <tuple>

namespace headrace {
namespace {

constexpr std::uint64_t kHoldBytes = 4 << 20;

bool may_repeat_ids(const Schema& schema) {
  // Other ids are places in the input.
  if (!schema.id) return false;
  return schema.splits.empty() ? schema.split.has_value() : schema.group.has_value();
}

}  // namespace

std::vector<std::string_view> splits_before(const PreparePlan& plan, const Arrangement& arrangement,
                                            std::string_view split) {
  std::vector<std::string_view> names;
  if (!may_repeat_ids(plan.schema)) return names;
  const auto own = std::find_if(arrangement.splits.begin(), arrangement.splits.end(),
                                [&](const ArrangedSplit& arranged) { return arranged.name == split; });
  if (own == arrangement.splits.end()) return names;
  for (const ArrangedSplit& other : arrangement.splits) {
    if (std::tie(other.rows, other.name) < std::tie(own->rows, own->name)) names.push_back(other.name);
  }
  return names;
}

OtherSplits::OtherSplits(std::span<const SliceRun> runs, std::span<const std::string_view> splits,
                         OrderRange range, const CallOptions& call) {
  for (const std::string_view split : splits) {
    const MergeOptions options{.range = range, .hold_bytes = kHoldBytes / splits.size(), .call = call};
    others_.push_back({.split = split, .rows = MergedRows(runs, split, options)});
  }
}

Result<std::optional<OtherSplits::Match>> OtherSplits::find(std::uint64_t order, std::uint64_t tie,
                                                            std::string_view id) {
  const auto wanted = std::tie(order, tie, id);
  for (Other& other : others_) {
    const auto comes_before = [&](const OrderedRow& row) {
      return std::tie(row.order, row.tie, row.id) < wanted;
    };
    while (!other.has_ended && (!other.row || comes_before(other.row->row))) {
      HEADRACE_TRY(other.row, other.rows.next());
      other.has_ended = !other.row;
    }
    if (!other.row || other.row->row.id != id) continue;
    return std::optional<Match>({other.split, other.row->slice, other.row->row.place});
  }
  return std::optional<Match>();
}

}  // namespace headrace
