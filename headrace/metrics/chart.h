#pragma once

/// \file Charts of metrics: of any range of steps or times, as many columns as a picture has pixels, with the
/// extremes of each. docs/formats/metric-segments.md, "Charts".

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/metrics/chart_columns.h"
#include "headrace/metrics/run_metrics.h"

namespace headrace {

enum class ChartAxis { kStep, kTime };

struct ChartRange {
  std::int64_t first = 0;  // steps, or microseconds since 1970
  std::int64_t last = 0;   // REQUIRES: >= first
};

struct ChartSeries {
  const RunMetrics* metrics = nullptr;
  std::string name;
  std::uint64_t rank = 0;
  ChartRange range{};
};

struct ChartOptions {
  ChartAxis axis = ChartAxis::kStep;
  std::size_t columns = 2000;            // 1 to kMostChartColumns, of each series
  int threads = 1;                       // share the requests of a round, and the series
  std::uint64_t most_samples = 4 << 20;  // held at once, beside those of one segment
  CallOptions call{};
};
inline constexpr std::size_t kMostChartColumns = 100'000;

/// How charts were read.
struct ChartCost {
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t rounds = 0;  // of requests that had to wait for others
};

/// Where the points of each metric lie; none if there are none. Reads nothing but the steps or times of
/// segments of version 1. If a later attempt has superseded the end of a segment, the range goes up to the
/// step before that attempt, whether a point is there or not; times also count those that are superseded. The
/// points of event files count if no segment has points; one of version 1 counts as having some. If a log was
/// compacted meanwhile, lists it again. Memory: 64 MiB of stored pieces at a time.
/// \error of the store; kDataLoss
Result<std::vector<std::optional<ChartRange>>> chart_ranges(std::span<const ChartSeries> series,
                                                            const ChartOptions& options);
/// The same for one.
Result<std::optional<ChartRange>> chart_range(const ChartSeries& series, const ChartOptions& options);

/// Points in segments that are read whole, whatever the width of the columns: those of version 1, and those
/// whose steps or times have no equal distances and no samples, as they go back or are few. Reads nothing.
std::uint64_t points_without_pyramid(const ChartSeries& series, ChartAxis axis);

/// The columns of each series. All points of the range count, each in one column: that of its own x, or the
/// one before, where a group of a pyramid, no wider than a column, begins there. Reads groups of the
/// pyramids, and points where the range cuts a group or where groups are wider than a column: one round of
/// requests, and one more for samples of steps or times without a regular distance. Memory: 64 MiB of stored
/// pieces at a time, and `most_samples` with the plans made of them; more than these takes more rounds. If a
/// log was compacted meanwhile, lists it again.
/// \param cost  added to, unless null
/// \error of the store; kDataLoss  a segment is damaged
Result<std::vector<std::vector<ChartColumn>>> chart_columns(std::span<const ChartSeries> series,
                                                            const ChartOptions& options,
                                                            ChartCost* cost = nullptr);

}  // namespace headrace
