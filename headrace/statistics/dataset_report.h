#pragma once

/// \file Everything that reading a dataset finds out about it, for a page or for JSON.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/record/manifest.h"
#include "headrace/statistics/read_split.h"
#include "headrace/statistics/report_lines.h"

namespace headrace {

/// How differently a feature is distributed in two splits, from 0 to 1. For values, the greatest difference
/// between the shares of a value (TensorFlow Data Validation's L-infinity distance); for numbers, between the
/// cumulative shares (the Kolmogorov–Smirnov statistic), computed from their samples.
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
  /// Set for a published dataset; else 0 and empty.
  std::uint64_t manifest = 0;
  std::string plan;
  std::string created_by;
  DatasetAttributes attributes;
  FeatureVocabularies vocabularies;
  std::map<std::string, SplitReport> splits;
  std::map<std::pair<std::string, std::string>, ReportedRows> reported;  // by status and reason
  /// Set by `judge`.
  std::vector<SplitDistance> distances;
  std::vector<std::string> warnings;
};

/// Compares splits, each with "train" (or the first), and reports oddities: duplicates, also between splits;
/// labels that are missing or rare; features that are constant, not finite, or differ between splits;
/// rejected rows; damage. Pure.
void judge(DatasetReport& report);

/// The statistics, warnings and distances; no samples. Whole numbers of records; NaN does not occur.
Json dataset_report_to_json(const DatasetReport& report);

/// One file that needs nothing else: no script, no network. Everything that comes from data is escaped.
std::string dataset_report_to_html(const DatasetReport& report);

}  // namespace headrace
