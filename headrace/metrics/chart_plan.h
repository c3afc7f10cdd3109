#pragma once

/// \file Plans which groups of pyramids and which points of a column of a segment a chart reads.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headrace/metrics/segment.h"

namespace headrace {

/// Consecutive points, or consecutive groups of a level: `begin` to `end`, which is excluded.
struct ChartRun {
  std::optional<std::size_t> level{};  // none: points
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Where the points of an ascending axis lie: computed from a distance, or looked up in samples.
class AscendingAxis {
 public:
  /// Keeps references to `numbers` and `samples`, which must outlive this.
  /// \param samples  the first number of each group of level 0; needed unless `numbers` has a distance
  AscendingAxis(const AxisNumbers& numbers, std::uint64_t points, std::span<const std::int64_t> samples = {})
      : numbers_(numbers), points_(points), samples_(samples) {}

  std::uint64_t points() const { return points_; }
  /// The position of a point. REQUIRES: there is a distance, or the point begins a group of level 0
  std::int64_t at(std::uint64_t point) const;
  /// An upper bound of the positions of the points before `end`, which is the end of a group.
  std::int64_t most_before(std::uint64_t end) const;

 private:
  const AxisNumbers& numbers_;
  std::uint64_t points_;
  std::span<const std::int64_t> samples_;
};

/// The parts to read, in order: the largest groups that lie entirely between `first` and `last` and are no
/// wider than `most_width`, and the points that are in no such group. Cost: proportional to the result.
std::vector<ChartRun> plan_chart(const AscendingAxis& axis, std::int64_t first, std::int64_t last,
                                 std::uint64_t most_width);

}  // namespace headrace
