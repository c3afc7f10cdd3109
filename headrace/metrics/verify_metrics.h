#pragma once

/// \file Whether metrics are as they were written.

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
  std::uint64_t segments = 0;     // that were read; at least one of each bad log
  std::vector<BadMetricLog> bad;  // in the order of their keys
};

/// Reads every segment of every log below a tracking root, as MetricLog::verify does. A log is read up to its
/// first bad segment, and is one bad log; the others are read nonetheless. Leaves out segments that a
/// compacted one stands for, objects with other names, and logs that are removed meanwhile.
/// \error of the store, where nothing can be said; kCancelled
Result<VerifiedMetrics> verify_metrics(const Location& root, const CallOptions& call);

}  // namespace headrace
