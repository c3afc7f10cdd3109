#pragma once

/// \file Compaction: replaces many segments by a few larger ones. docs/formats/metric-segments.md, "Who
/// writes what, and two at once".

#include <cstdint>

#include "headrace/store/location.h"

namespace headrace {

struct Compacted {
  std::uint64_t written = 0;  // compacted segments
  std::uint64_t removed = 0;
};

/// Most points in a compacted segment.
inline constexpr std::uint64_t kMostCompactedPoints = 1 << 22;
/// Replaces groups of consecutive segments of a log, each with at most kMostCompactedPoints points in all, by
/// one compacted segment each: writes it, then removes the segments that it covers. Also removes covered
/// segments that an earlier compaction left. May be repeated, also after a kill. Several processes may do it
/// at once, while the log is written and read. Memory: about 100 bytes a point.
/// \error kDataLoss  a segment is missing or damaged: its group is not replaced
Result<Compacted> compact_log(const Location& log, const CallOptions& call);

}  // namespace headrace
