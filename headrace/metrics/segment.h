#pragma once

/// \file A segment of a metric log: points of metrics in columns, a footer that says where each lies, and
/// pyramids of extremes. docs/formats/metric-segments.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/metrics/pieces.h"

namespace headrace {

inline constexpr std::size_t kMetricNameBytes = 1024;
inline constexpr std::uint64_t kPointsPerMinimum = 64;  // of level 0
inline constexpr std::uint64_t kPairsPerPair = 16;      // of each further level

/// A segment that is read whole is no larger.
inline constexpr std::uint64_t kSegmentLimitBytes = std::uint64_t{1} << 30;

/// "000003", or "000003-000017" of a compacted one.
std::string segment_name(std::uint64_t first, std::uint64_t last);
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_segment_name(std::string_view name);

struct MetricPoint {
  std::uint32_t metric = 0;  // place of its name in a list beside the points
  std::int64_t step = 0;
  std::int64_t time_us = 0;  // since 1970
  double value = 0;
};

struct SegmentHead {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Bytes previous{};       // SHA-256 of the segment before; empty: there is none
  Bytes points_digest{};  // SHA-256 of what the points were made from; empty if compacted
  Bytes last_digest{};    // SHA-256 of segment `last`; empty unless compacted
  std::optional<std::int64_t> from_step{};
  bool is_end = false;
};

struct SegmentAxis {
  std::uint64_t points = 0;
  SegmentPiece steps;
  SegmentPiece times;
  std::int64_t last_step = 0;
};

struct SegmentColumn {
  std::string name;
  std::size_t axis = 0;
  std::size_t width = 8;
  SegmentPiece values;
  std::vector<SegmentPiece> levels;  // each of all minima, then all maxima
  // Extremes of the values that are numbers: none if there are none.
  std::optional<double> minimum{};
  std::optional<double> maximum{};
  double last = 0;
  std::uint64_t nan_count = 0;
};

struct SegmentFooter {
  SegmentHead head;
  std::vector<SegmentAxis> axes;
  std::vector<SegmentColumn> columns;
};

/// The segment's bytes. Points of a metric keep their order. `names` are those that points refer to; one
/// without points leaves nothing. The same arguments give the same bytes with the same version of libzstd.
/// REQUIRES: `metric < names.size()`.
Bytes encode_segment(const SegmentHead& head, std::span<const std::string> names,
                     std::span<const MetricPoint> points);

/// Reads the footer of a segment of that size: two ranges, or one if the segment is small.
/// \error kDataLoss            it is damaged, or no segment
/// \error kFailedPrecondition  a higher version
Result<SegmentFooter> read_footer(const ReadSegment& read, std::uint64_t size_bytes);

struct AxisPoints {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_us;
};

Result<AxisPoints> read_axis(const ReadSegment& read, const SegmentAxis& axis);
/// As many as its axis has points.
Result<std::vector<double>> read_values(const ReadSegment& read, const SegmentFooter& footer,
                                        const SegmentColumn& column);

struct Extremes {
  double minimum = 0;
  double maximum = 0;
};
/// A level of the column's pyramid: a pair for each `points_per_pair(level)` points.
Result<std::vector<Extremes>> read_level(const ReadSegment& read, const SegmentFooter& footer,
                                         const SegmentColumn& column, std::size_t level);
std::uint64_t points_per_pair(std::size_t level);

}  // namespace headrace
