#pragma once

/// \file Metrics of recorded runs, for the commands `runs …`.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/metrics/run_metrics.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Begins the names of metrics that say how busy a machine was.
inline constexpr std::string_view kSystemMetrics = "system/";

/// The kind of a series of metric segments.
inline constexpr std::string_view kSegmentsKind = "metric_segments";

/// The series of a part, ended or not.
const std::vector<RunSeries>& series_of(const RunPart& part);

/// A folder of event files that a run writes scalars to.
struct RunEventFolder {
  std::uint64_t rank = 0;
  RunSeries series;
  /// In microseconds since 1970: the end of the run, rounded up to a second. None: it has not ended.
  std::optional<std::int64_t> until_us{};
};
/// Those that the record names, each once; of each rank, the latest attempt's first.
std::vector<RunEventFolder> event_folders_of(const RunRecord& run);

struct MetricsOptions {
  /// Read all segments, and compare their checksums and chains; damage in event files is an error.
  bool verifies = false;
  bool reads_segments = true;
  /// URLs of event files that are left out.
  std::set<std::string> left_out{};
};

/// The metrics that the run has logged into segments and event files; none if it has no such series. Warns of
/// damage in event files.
/// \error kNotFound, kDataLoss  a log that the record names is gone or damaged; kResourceExhausted  event
///                             files have too many points; as the store
Result<RunMetrics> metrics_of(CommandContext& context, const RunRecord& run,
                              const MetricsOptions& options = {});

/// At most six digits: "0.333333", "nan".
std::string short_number(double value);

/// The shortest text that stands for this value and no other: "0.1", "nan".
std::string exact_number(double value);

}  // namespace headrace
