#pragma once

/// \file The metrics of recorded runs: joins the records of track/ with the logs of metrics/.
/// Formats: docs/formats/run-record.md, docs/formats/metric-segments.md.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/metrics/run_metrics.h"
#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

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

struct HistoryOptions {
  /// Read all segments, and compare their checksums and chains; damage in event files is an error.
  bool verifies = false;
  bool reads_segments = true;
  /// URLs of event files that are left out.
  std::set<std::string> left_out{};
};

/// Where metrics are read from, and whom damage is told.
struct HistorySource {
  /// Opens the URL of a series, as the record has it: without the query of the tracking root's URL.
  std::function<Result<Location>(const std::string& url)> open;
  /// Told of damage in event files, by a message that names the file; one call at a time, from any thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  CallOptions call{};
};

/// The metrics that the run has logged into segments and event files; none if it has no such series. One
/// listing and the footers for each log; event files are read whole.
/// \error kNotFound, kDataLoss  a log that the record names is gone or damaged; kResourceExhausted  event
///                             files have too many points; as the store
Result<RunMetrics> metrics_of(const RunRecord& run, const HistorySource& source,
                              const HistoryOptions& options = {});

/// Begins the names of metrics that say how busy a machine was.
inline constexpr std::string_view kSystemMetrics = "system/";

/// Whether the end of the record has the last values of all that was logged into segments: the run has ended,
/// with fewer than kMostFinalMetrics.
bool end_has_all_metrics(const RunRecord& run);

/// The last value of each metric: those that the end of the record has; the others as far as they are logged,
/// by the lowest rank. Segments are read unless `end_has_all_metrics`. How busy the machine was is no result,
/// so metrics that are not in the end lack kSystemMetrics.
/// \error as `metrics_of`
Result<std::map<std::string, double>> last_values(const RunRecord& run, const HistorySource& source);

}  // namespace headrace
