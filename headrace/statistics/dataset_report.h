#pragma once

/// \file All that is found out about a dataset by reading it, to be shown as a page or as JSON.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headrace/record/manifest.h"
#include "headrace/statistics/read_split.h"
#include "headrace/statistics/report_lines.h"

namespace headrace {

/// How differently a feature is distributed in two splits, from 0 to 1: of values, the greatest difference of
/// a value's shares (TensorFlow Data Validation's L-infinity distance); of numbers, that of the cumulative
/// shares (the statistic of Kolmogorov and Smirnov), by their samples.
struct SplitDistance {
  std::string feature;
  std::string from;
  std::string to;
  double distance = 0;
  std::string where;  // the value whose shares differ most; "" of numbers
  /// Whether it is more than 0.1, and more than chance gives once in a hundred times.
  bool is_notable = false;
};

struct SplitReport {
  SplitStatistics statistics;
  std::vector<SampleRecord> samples;
};

struct DatasetReport {
  std::string url;
  /// Of a published dataset; else 0 and empty.
  std::uint64_t manifest = 0;
  std::string plan;
  std::string created_by;
  DatasetAttributes attributes;
  Vocabularies vocabularies;
  std::map<std::string, SplitReport> splits;
  std::map<std::pair<std::string, std::string>, ReportedRows> reported;  // by status and reason
  /// Set by `judge`.
  std::vector<SplitDistance> distances;
  std::vector<std::string> warnings;
};

/// Compares splits, each with "train" (or the first), and says what is odd: duplicates, also between splits;
/// labels that are missing or rare; features that are constant, not finite, or differ between splits; rows
/// that were rejected; damage. Pure.
void judge(DatasetReport& report);

/// The statistics, warnings and distances; no samples. Whole numbers of records; NaN does not occur.
std::string dataset_report_to_json(const DatasetReport& report);

/// One file that needs nothing else: no script, no network. Everything that comes from data is escaped.
std::string dataset_report_to_html(const DatasetReport& report);

}  // namespace headrace
