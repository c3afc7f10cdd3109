#pragma once

/// \file The report on a dataset that was read, for a page or for JSON.

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
/// between the shares of one value (TensorFlow Data Validation's L-infinity distance). For numbers, the
/// greatest difference between the cumulative shares (the Kolmogorov–Smirnov statistic), computed from their
/// samples.
struct SplitDistance {
  std::string feature;
  std::string from;
  std::string to;
  double distance = 0;
  std::string where;  // the value whose shares differ most; "" for numbers
  /// True if the distance is above 0.1, and above the distance that chance exceeds once in a hundred times.
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

/// Fills `distances` and `warnings`. Compares each split with "train" (or the first split). Warns of
/// duplicates within and between splits; labels that are missing or much rarer than others; features that are
/// constant, not finite, or differ between splits; rejected rows; and damage. Pure.
void judge(DatasetReport& report);

/// The statistics, warnings and distances, without samples. Counts are whole numbers; NaN does not occur.
Json dataset_report_to_json(const DatasetReport& report);

/// One file that needs nothing else: no script, no network. Everything that comes from the data is escaped.
std::string dataset_report_to_html(const DatasetReport& report);

}  // namespace headrace
