#pragma once

/// \file Compacts logs that have many segments, as killed and long runs leave them.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/metrics/verify_metrics.h"
#include "headrace/store/location.h"

namespace headrace {

struct CompactedLogs {
  std::uint64_t logs = 0;      // logs that have fewer segments now
  std::uint64_t segments = 0;  // removed, because compacted segments hold their points
  std::vector<BadMetricLog> bad;
};

/// A log with more segments is compacted.
inline constexpr std::uint64_t kMostSegmentsOfALog = 8;
/// Compacts each log below a tracking root that has more than `kMostSegmentsOfALog` segments, if `is_old` is
/// true for all of its segments. With `is_dry_run`, changes nothing, and counts the logs that it would
/// compact and their segments. May be called at any time, by several processes, while runs are logged and
/// read. A damaged log is left as it is and reported in `bad`; the others are still compacted.
/// Cost: a listing of all segments, and the cost of `compact_log` for each log that is compacted.
/// \error of the store; kCancelled
Result<CompactedLogs> compact_logs(const Location& root, bool is_dry_run,
                                   const std::function<bool(const ObjectInfo&)>& is_old,
                                   const CallOptions& call);

}  // namespace headrace
