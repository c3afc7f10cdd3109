#include "headrace/metrics/chart_plan.h"

#include <algorithm>

namespace headrace {

namespace {

/// Descends the levels of a pyramid.
class ChartPlanner {
 public:
  ChartPlanner(const AscendingAxis& axis, std::int64_t first, std::int64_t last, std::uint64_t most_width)
      : axis_(axis), first_(first), last_(last), most_width_(most_width) {}

  std::vector<ChartRun> plan() {
    const std::size_t levels = level_count(axis_.points());
    if (levels == 0) return {{.begin = 0, .end = axis_.points()}};
    for (std::uint64_t group = 0; group < groups_in_level(axis_.points(), levels - 1); ++group)
      descend(levels - 1, group);
    return std::move(runs_);
  }

 private:
  void descend(std::size_t level, std::uint64_t group) {
    const std::uint64_t size = points_per_group(level);
    const std::uint64_t begin = group * size;
    const std::uint64_t end = std::min(axis_.points(), begin + size);
    const std::int64_t low = axis_.at(begin);
    const std::int64_t high = axis_.most_before(end);
    if (high < first_ || low > last_) return;
    const bool is_inside = low >= first_ && high <= last_;
    const bool is_narrow = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) < most_width_;
    if (is_inside && is_narrow) return append({level, group, group + 1});
    // A piece of points costs no more than a piece of groups.
    if (level == 0 || (is_narrow && size <= kEntriesPerPiece)) return append({{}, begin, end});
    const std::uint64_t groups = groups_in_level(axis_.points(), level - 1);
    for (std::uint64_t i = group * kGroupsPerGroup; i < std::min(groups, (group + 1) * kGroupsPerGroup); ++i)
      descend(level - 1, i);
  }

  void append(const ChartRun& run) {
    if (!runs_.empty() && runs_.back().level == run.level && runs_.back().end == run.begin) {
      runs_.back().end = run.end;
    } else {
      runs_.push_back(run);
    }
  }

  const AscendingAxis& axis_;
  std::int64_t first_;
  std::int64_t last_;
  std::uint64_t most_width_;
  std::vector<ChartRun> runs_;
};

}  // namespace

std::int64_t AscendingAxis::at(std::uint64_t point) const {
  if (!numbers_.distance) return samples_[point / kPointsPerGroup];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers_.minimum) + point * *numbers_.distance);
}

std::int64_t AscendingAxis::most_before(std::uint64_t end) const {
  if (end == points_) return numbers_.maximum;
  return numbers_.distance ? at(end - 1) : samples_[end / kPointsPerGroup];
}

std::vector<ChartRun> plan_chart(const AscendingAxis& axis, std::int64_t first, std::int64_t last,
                                 std::uint64_t most_width) {
  return ChartPlanner(axis, first, last, most_width).plan();
}

}  // namespace headrace
