#pragma once

/// \file Charts of metrics over any range of steps or times. A chart has as many columns as a picture has
/// pixels, with the extremes of each column. docs/formats/metric-segments.md, "Charts".

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
  std::size_t columns = 2000;            // of each series: 1 to kMostChartColumns
  int threads = 1;                       // that share the requests of a round, and the series
  std::uint64_t most_samples = 4 << 20;  // held at once, besides those of one segment
  CallOptions call{};
};
inline constexpr std::size_t kMostChartColumns = 100'000;

/// The cost of reading charts.
struct ChartCost {
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t rounds = 0;  // rounds of requests, one after another
};

/// The range of the points of each series; none for a series without points. Reads only the steps or times of
/// segments of version 1. If a later attempt has superseded the end of a segment, the range of steps goes up
/// to the step before that attempt, whether or not a point is there; a range of times also includes
/// superseded points. Points of event files count only if no segment has points; a segment of version 1 is
/// taken to have some. If a log was compacted meanwhile, lists it again. Memory: 64 MiB of stored pieces at a
/// time.
/// \error of the store; kDataLoss  a segment is damaged
Result<std::vector<std::optional<ChartRange>>> chart_ranges(std::span<const ChartSeries> series,
                                                            const ChartOptions& options);
/// As `chart_ranges`, for one series.
Result<std::optional<ChartRange>> chart_range(const ChartSeries& series, const ChartOptions& options);

/// How many points a chart of the series reads one by one, whatever the width of its columns: the points of
/// segments of version 1, and of segments whose steps or times have neither equal distances nor samples,
/// because they go back or are few. Reads nothing.
std::uint64_t points_without_pyramid(const ChartSeries& series, ChartAxis axis);

/// The columns of each series, in the order of `series`. Each point of the range counts in one column: the
/// one that its step or time lies in, or the column before, if a pyramid group that is no wider than a column
/// begins there. Reads groups of the pyramids; and reads points where the range cuts a group or where groups
/// are wider than a column. Cost: one round of requests, and one more for samples if steps or times have no
/// equal distance. Memory: 64 MiB of stored pieces at a time, and `most_samples` samples with the plans made
/// from them; a chart that needs more takes more rounds. If a log was compacted meanwhile, lists it again.
/// REQUIRES: each range is first <= last; 1 <= columns <= kMostChartColumns
/// \param cost  the cost is added to it, unless null
/// \error of the store; kDataLoss  a segment is damaged
Result<std::vector<std::vector<ChartColumn>>> chart_columns(std::span<const ChartSeries> series,
                                                            const ChartOptions& options,
                                                            ChartCost* cost = nullptr);

}  // namespace headrace
