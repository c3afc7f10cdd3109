#pragma once

/// \file Verifies that stored metrics are undamaged.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

struct BadMetricLog {
  std::string url;
  std::string problem;
};

struct VerifiedMetrics {
  std::uint64_t segments = 0;     // segments that were read; each bad log counts for at least one
  std::vector<BadMetricLog> bad;  // in the order of their keys
};

/// Reads every segment of every log below a tracking root, as MetricLog::verify does. A log is read up to its
/// first bad segment, and then counts as one bad log; the other logs are read nonetheless. Ignores segments
/// that a compacted one covers, objects with other names, and logs that are removed meanwhile.
/// \error of the store; kCancelled
Result<VerifiedMetrics> verify_metrics(const Location& root, const CallOptions& call);

}  // namespace headrace
