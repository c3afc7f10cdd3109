#pragma once

/// \file Rows of a log of requests, with the features that prepare would make of them for a dataset.

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/write/record_maker.h"

namespace headrace {

/// Numbers are read as prepare reads them, from texts too. A text that the schema counts as missing is
/// missing, and no default takes its place. Anything else stays as it came: a text that is no number, labels,
/// images, texts for an encoder. One thread at a time.
class RequestedFeatures {
 public:
  /// `schema` is the dataset's. Without features: each column is a feature.
  explicit RequestedFeatures(const Schema& schema);

  /// The features that the row has, and those of its columns that no feature has. Borrows the row's bytes.
  std::vector<Feature> of(const SourceRow& row);

 private:
  struct NumberFeature {
    NumberFeature(const CellRules& rules, const FeatureDefinition& definition);
    Schema schema;  // of this feature
    std::vector<std::string> columns;
    RecordMaker maker;
  };
  void add_numbers(NumberFeature& feature, const SourceRow& row, std::vector<Feature>& out) const;
  // None if it is missing.
  Cell given(const Cell& cell) const;

  const std::vector<std::string> missing_;
  std::deque<NumberFeature> numbers_;
  std::multimap<std::string, std::string, std::less<>> others_;  // column → feature
  std::set<std::string, std::less<>> columns_;                   // of all features
};

}  // namespace headrace
