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
inline constexpr std::uint64_t kPointsPerGroup = 32;     // of level 0
inline constexpr std::uint64_t kGroupsPerGroup = 16;     // of each further level
inline constexpr std::uint64_t kEntriesPerPiece = 4096;  // points, or groups of a level

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

/// The steps or the times of an axis.
struct AxisNumbers {
  std::vector<SegmentPiece> pieces;         // of kEntriesPerPiece numbers each; none if `distance`
  std::optional<SegmentPiece> samples{};    // the first number of each group of level 0, if they ascend
  std::optional<std::uint64_t> distance{};  // number i is `minimum` + i × `distance`
  // In version 1 unknown: 0.
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
};

struct SegmentAxis {
  std::uint64_t points = 0;
  AxisNumbers steps;
  AxisNumbers times_us;
  std::int64_t last_step = 0;
};

struct SegmentColumn {
  std::string name;
  std::size_t axis = 0;
  std::size_t width = 8;
  std::vector<SegmentPiece> values;  // of kEntriesPerPiece values each
  // The pyramid. Each level but the last one is in pieces of kEntriesPerPiece groups; the last one is here.
  std::vector<std::vector<SegmentPiece>> levels{};
  Bytes last_level{};  // none: there is no pyramid
  // Extremes of the values that are numbers: none if there are none.
  std::optional<double> minimum{};
  std::optional<double> maximum{};
  double last = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t not_finite = 0;  // NaN and infinities; unknown in version 1
};

struct SegmentFooter {
  std::uint64_t version = 2;
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
/// The first number of each group of level 0. REQUIRES: there are samples, or a distance
Result<std::vector<std::int64_t>> read_samples(const ReadSegment& read, const SegmentAxis& axis,
                                               const AxisNumbers& numbers);

/// As many as its axis has points.
Result<std::vector<double>> read_values(const ReadSegment& read, const SegmentFooter& footer,
                                        const SegmentColumn& column);

/// Groups of a level, a number of each array for each group: of the values that are finite, NaN if none is.
template <typename Array>
struct GroupArrays {
  Array minima;
  Array maxima;
  Array lasts;
  Array not_finite;  // how many are NaN or infinite; empty: none in the whole column
};
using LevelGroups = GroupArrays<std::vector<double>>;
using GroupViews = GroupArrays<std::span<const double>>;
std::uint64_t points_per_group(std::size_t level);
/// Levels of the pyramid of so many points.
std::size_t level_count(std::uint64_t points);
std::uint64_t groups_in_level(std::uint64_t points, std::size_t level);

/// Points in each piece of values, steps or times, but the last one.
std::uint64_t points_per_piece(const SegmentFooter& footer);

// Decoders of pieces, for whoever has read them already. \error kDataLoss  other than `count` entries

/// The values replace those of `values`, whose memory is used again.
Status decode_piece_values(BytesView stored, const SegmentFooter& footer, const SegmentColumn& column,
                           std::uint64_t count, std::vector<double>& values);
/// Most bytes of a piece with so many values.
std::uint64_t most_value_bytes(const SegmentColumn& column, std::uint64_t count);
/// Views of `values`, which it fills likewise.
Result<GroupViews> decode_groups(BytesView stored, const SegmentColumn& column, std::uint64_t count,
                                 std::vector<double>& values);
/// Those of SegmentColumn::last_level.
Result<GroupViews> decode_last_level(BytesView planes, const SegmentColumn& column, std::uint64_t count,
                                     std::vector<double>& values);
std::uint64_t last_level_bytes(const SegmentColumn& column, std::uint64_t groups);
/// Most bytes of a piece with so many groups.
std::uint64_t most_group_bytes(const SegmentColumn& column, std::uint64_t groups);

/// A level of the column's pyramid. REQUIRES: version 2, and `level` < level_count of its points
Result<LevelGroups> read_level(const ReadSegment& read, const SegmentFooter& footer,
                               const SegmentColumn& column, std::size_t level);

}  // namespace headrace
