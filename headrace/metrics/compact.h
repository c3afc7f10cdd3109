#pragma once

/// \file Makes few segments of many: docs/formats/metric-segments.md, "Who writes what, and two at once".

#include <cstdint>

#include "headrace/store/location.h"

namespace headrace {

struct Compacted {
  std::uint64_t written = 0;  // segments that now hold several
  std::uint64_t removed = 0;
};

/// Writes compacted segments for consecutive segments of a log that have at most kMostCompactedPoints points
/// together, and removes those that they cover. May be repeated, also after a kill, and run by several
/// processes at once, while the log is written and read. Memory: about 100 bytes a point.
/// \error kDataLoss  a segment is missing or damaged: nothing is removed
inline constexpr std::uint64_t kMostCompactedPoints = 1 << 22;
Result<Compacted> compact_log(const Location& log, const CallOptions& call);

}  // namespace headrace
