#pragma once

/// \file The metrics of recorded runs. Joins the records of track/ with the logs of metrics/.
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

/// The kind of a series that consists of metric segments.
inline constexpr std::string_view kSegmentsKind = "metric_segments";

/// The series of a part, whether it has ended or not.
const std::vector<RunSeries>& series_of(const RunPart& part);

/// A folder of event files to which a run writes scalars.
struct RunEventFolder {
  std::uint64_t rank = 0;
  RunSeries series;
  /// In microseconds since 1970: one second after the end of the last part that names the folder. None: such
  /// a part has not ended.
  std::optional<std::int64_t> until_us{};
};
/// The folders that the record names, each once. For each rank, the latest attempt's folder comes first.
std::vector<RunEventFolder> event_folders_of(const RunRecord& run);

struct HistoryOptions {
  /// Read all segments, and compare their checksums and chains. Damage in event files becomes an error.
  bool verifies = false;
  bool reads_segments = true;
  /// URLs of folders of event files that are not read.
  std::set<std::string> left_out{};
};

/// Where metrics are read from, and who is told of damage.
struct HistorySource {
  /// Opens the URL of a series as the record has it, which lacks the query of the tracking root's URL.
  std::function<Result<Location>(const std::string& url)> open;
  /// Called for damage in event files, with a message that names the file; by any thread, one call at a time.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  CallOptions call{};
};

/// Reads the metrics that the run has logged into segments and event files; without such series, there are
/// none. Costs one listing and the footers for each log; event files are read whole.
/// \error kNotFound           a log that the record names is gone
/// \error kDataLoss           a log that the record names is damaged
/// \error kResourceExhausted  event files have too many points
/// \error of the store
Result<RunMetrics> metrics_of(const RunRecord& run, const HistorySource& source,
                              const HistoryOptions& options = {});

/// The names of metrics that say how busy a machine was begin with this.
inline constexpr std::string_view kSystemMetrics = "system/";

/// True if the end of the record has the last values of all metrics that were logged into segments: the run
/// has ended, with fewer than kMostFinalMetrics metrics.
bool end_has_all_metrics(const RunRecord& run);

/// The last value of each metric. Values in the end of the record come first. Other metrics have the last
/// value that was logged, by the lowest rank. Segments are read only if `end_has_all_metrics` is false. How
/// busy the machine was is no result, so metrics that begin with kSystemMetrics are only taken from the end.
/// \error as `metrics_of`
Result<std::map<std::string, double>> last_values(const RunRecord& run, const HistorySource& source);

}  // namespace headrace
