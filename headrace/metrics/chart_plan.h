#pragma once

/// \file Which groups of pyramids, and which points, a chart reads of a column of a segment.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headrace/metrics/segment.h"

namespace headrace {

/// Points, or groups of a level, that lie beside each other.
struct ChartRun {
  std::optional<std::size_t> level{};  // none: points
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Where the points of an axis lie, in ascending order: by formula, or by samples.
class AscendingAxis {
 public:
  /// \param samples  the first number of each group of level 0; needed unless `numbers` has a distance
  AscendingAxis(const AxisNumbers& numbers, std::uint64_t points, std::span<const std::int64_t> samples = {})
      : numbers_(numbers), points_(points), samples_(samples) {}

  std::uint64_t points() const { return points_; }
  /// The place of a point that begins a group of level 0, or of any point if there is a distance.
  std::int64_t at(std::uint64_t point) const;
  /// No point before `end`, a group's end, lies behind.
  std::int64_t most_before(std::uint64_t end) const;

 private:
  const AxisNumbers& numbers_;
  std::uint64_t points_;
  std::span<const std::int64_t> samples_;
};

/// The groups that lie whole between `first` and `last` and are no wider than `most_width`, the largest of
/// them; and the points that are in none of these. In order. Cost: proportional to the result.
std::vector<ChartRun> plan_chart(const AscendingAxis& axis, std::int64_t first, std::int64_t last,
                                 std::uint64_t most_width);

}  // namespace headrace
