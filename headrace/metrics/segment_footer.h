#pragma once

/// \file Encodes and parses the footer of a segment. docs/formats/metric-segments.md, "Layout of a segment".

#include "headrace/metrics/segment.h"

namespace headrace {

inline constexpr std::uint64_t kMostAxisPoints = 1 << 22;  // a longer series is divided into several columns
/// Most points of all axes of a segment together. The segments that Headrace writes have at most half as
/// many.
inline constexpr std::uint64_t kMostSegmentPoints = 1 << 23;

/// Encodes a footer in the version that this program writes.
Bytes encode_footer(const SegmentFooter& footer);

/// \error kDataLoss            it is damaged, the numbers of pieces do not fit the numbers of points, or
///                             there are more axes than columns need
/// \error kFailedPrecondition  its version is newer than this program
Result<SegmentFooter> parse_footer(BytesView message);

}  // namespace headrace
