#pragma once

/// \file The footer of a segment as bytes: docs/formats/metric-segments.md, "Layout of a segment".

#include "headrace/metrics/segment.h"

namespace headrace {

inline constexpr std::uint64_t kMostAxisPoints = 1 << 22;  // a longer series has several columns
/// All axes of a segment together have no more; in the segments that Headrace writes, at most the half.
inline constexpr std::uint64_t kMostSegmentPoints = 1 << 23;

/// In the version that this program writes.
Bytes encode_footer(const SegmentFooter& footer);

/// \error kDataLoss            it is damaged, or numbers of pieces do not fit the numbers of points,
///                             or there are more axes than columns need
/// \error kFailedPrecondition  a higher version
Result<SegmentFooter> parse_footer(BytesView message);

}  // namespace headrace
