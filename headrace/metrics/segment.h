#pragma once

/// \file A segment of a metric log: points of metrics in columns, a footer that says where each column lies,
/// and pyramids of extremes. docs/formats/metric-segments.md.

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
inline constexpr std::uint64_t kEntriesPerPiece = 4096;  // points or groups

/// Largest segment that is read whole.
inline constexpr std::uint64_t kSegmentLimitBytes = std::uint64_t{1} << 30;

/// "000003", or "000003-000017" for a compacted segment.
std::string segment_name(std::uint64_t first, std::uint64_t last);
/// The first and last number in a segment's name; none if it is no such name.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_segment_name(std::string_view name);

struct MetricPoint {
  std::uint32_t metric = 0;  // index of its name in a list that is passed with the points
  std::int64_t step = 0;
  std::int64_t time_us = 0;  // since 1970
  double value = 0;
};

/// The fields 2 to 7 and 10 of the footer: docs/formats/metric-segments.md, "Layout of a segment".
struct SegmentHead {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Bytes previous{};       // SHA-256 of the previous segment; empty: there is none
  Bytes points_digest{};  // SHA-256 of the journal's frames; empty if compacted
  Bytes last_digest{};    // SHA-256 of segment `last`; empty unless compacted
  std::optional<std::int64_t> from_step{};
  bool is_end = false;
};

/// The steps or the times of an axis.
struct AxisNumbers {
  std::vector<SegmentPiece> pieces;         // of kEntriesPerPiece numbers each; empty if `distance` is set
  std::optional<SegmentPiece> samples{};    // the first number of each group of level 0, if they ascend
  std::optional<std::uint64_t> distance{};  // number i is `minimum` + i × `distance`
  // Unknown in version 1, and 0 there.
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
  // The pyramid. `levels` has the pieces of each level but the last, of kEntriesPerPiece groups each.
  std::vector<std::vector<SegmentPiece>> levels{};
  Bytes last_level{};  // the last level itself; empty: there is no pyramid
  // Extremes of the values that are not NaN; none if all are NaN.
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

/// Encodes a segment. The points of each metric keep their order. MetricPoint::metric is an index into
/// `names`; a name without points leaves no trace. The same arguments give the same bytes with the same
/// version of libzstd.
/// REQUIRES: `metric < names.size()` for each point
Bytes encode_segment(const SegmentHead& head, std::span<const std::string> names,
                     std::span<const MetricPoint> points);

/// Reads the footer of a segment of `size_bytes` bytes: two ranges, or one if the segment is small.
/// \error kDataLoss            it is damaged, or no segment
/// \error kFailedPrecondition  its version is newer than this program
Result<SegmentFooter> read_footer(const ReadSegment& read, std::uint64_t size_bytes);

struct AxisPoints {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_us;
};

/// The steps and times of all points of an axis. \error kDataLoss  it is damaged
Result<AxisPoints> read_axis(const ReadSegment& read, const SegmentAxis& axis);
/// The first number of each group of level 0. They have no meaning if `numbers` has neither samples nor a
/// distance.
/// \error kDataLoss  they are damaged
Result<std::vector<std::int64_t>> read_samples(const ReadSegment& read, const SegmentAxis& axis,
                                               const AxisNumbers& numbers);

/// The values of a column, one for each point of its axis. \error kDataLoss  they are damaged
Result<std::vector<double>> read_values(const ReadSegment& read, const SegmentFooter& footer,
                                        const SegmentColumn& column);

/// Groups of a level: entry i of each array belongs to group i. Minima, maxima and last values are those of
/// the finite values, NaN if no value of the group is finite.
template <typename Array>
struct GroupArrays {
  Array minima;
  Array maxima;
  Array lasts;
  Array not_finite;  // how many are NaN or infinite; empty: none in the whole column
};
using LevelGroups = GroupArrays<std::vector<double>>;
using GroupViews = GroupArrays<std::span<const double>>;
/// Points in each group of a level but the last group.
std::uint64_t points_per_group(std::size_t level);
/// How many levels the pyramid of so many points has.
std::size_t level_count(std::uint64_t points);
std::uint64_t groups_in_level(std::uint64_t points, std::size_t level);

/// Points in each piece of values, steps or times but the last piece.
std::uint64_t points_per_piece(const SegmentFooter& footer);

// Decoders of pieces that were read already. \error kDataLoss  a piece does not have `count` entries

/// Decodes a piece of values. Replaces the contents of `values` and reuses its memory.
Status decode_piece_values(BytesView stored, const SegmentFooter& footer, const SegmentColumn& column,
                           std::uint64_t count, std::vector<double>& values);
/// Most bytes of a stored piece with `count` values.
std::uint64_t most_value_bytes(const SegmentColumn& column, std::uint64_t count);
/// Decodes a piece of groups into `values`, and returns views of it. Reuses the memory of `values`.
Result<GroupViews> decode_groups(BytesView stored, const SegmentColumn& column, std::uint64_t count,
                                 std::vector<double>& values);
/// As decode_groups, for SegmentColumn::last_level.
Result<GroupViews> decode_last_level(BytesView planes, const SegmentColumn& column, std::uint64_t count,
                                     std::vector<double>& values);
std::uint64_t last_level_bytes(const SegmentColumn& column, std::uint64_t groups);
/// Most bytes of a stored piece with so many groups.
std::uint64_t most_group_bytes(const SegmentColumn& column, std::uint64_t groups);

/// Reads a level of the column's pyramid. \error kDataLoss  it is damaged
/// REQUIRES: version 2, and `level` < level_count of its points
Result<LevelGroups> read_level(const ReadSegment& read, const SegmentFooter& footer,
                               const SegmentColumn& column, std::size_t level);

}  // namespace headrace
