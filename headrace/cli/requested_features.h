#pragma once

/// \file Turns rows of a log of requests into the features that prepare would make from them for a dataset.

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/write/record_maker.h"

namespace headrace {

/// Reads numbers as prepare does, also from texts. A text that the schema counts as missing is missing, and
/// gets no default. All other values stay unchanged: texts that are not numbers, labels, images, texts for an
/// encoder. Not thread-safe.
class RequestedFeatures {
 public:
  /// `schema`: of the dataset. If it has no features, each column is a feature.
  explicit RequestedFeatures(const Schema& schema);

  /// The features of a row, and the columns that belong to no feature. The result refers to the row's bytes.
  std::vector<Feature> of(const SourceRow& row);

 private:
  struct NumberFeature {
    NumberFeature(const CellRules& rules, const FeatureDefinition& definition);
    Schema schema;  // of this feature
    std::vector<std::string> columns;
    RecordMaker maker;
  };
  void add_numbers(NumberFeature& feature, const SourceRow& row, std::vector<Feature>& out) const;
  // The cell, or an empty cell if it counts as missing.
  Cell given(const Cell& cell) const;

  const std::vector<std::string> missing_;
  std::deque<NumberFeature> numbers_;
  std::multimap<std::string, std::string, std::less<>> others_;  // column → feature
  std::set<std::string, std::less<>> columns_;                   // of all features
};

}  // namespace headrace
