#pragma once

/// \file Compacts the logs that killed and long runs have left in many segments.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/metrics/verify_metrics.h"
#include "headrace/store/location.h"

namespace headrace {

struct CompactedLogs {
  std::uint64_t logs = 0;      // that have fewer segments now
  std::uint64_t segments = 0;  // that were removed, because others hold their points
  std::vector<BadMetricLog> bad;
};

/// Compacts each log below a tracking root that has more than `kMostSegmentsOfALog` segments, all of which
/// are old by `is_old`. With `is_dry_run`, changes nothing, and counts the logs that it would compact and
/// their segments. May be called at any time, by several processes, while runs are logged and read. A log
/// that is damaged is left as it is, told in `bad`, and holds up no other.
/// Cost: a listing of all segments; for each such log what `compact_log` costs.
/// \error of the store, where nothing can be said; kCancelled
inline constexpr std::uint64_t kMostSegmentsOfALog = 8;
Result<CompactedLogs> compact_logs(const Location& root, bool is_dry_run,
                                   const std::function<bool(const ObjectInfo&)>& is_old,
                                   const CallOptions& call);

}  // namespace headrace
