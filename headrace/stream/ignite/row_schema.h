#pragma once

/// \file Collects the schema of rows: their features, with types and numbers of values.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/record/ignite_example.h"
#include "headrace/record/manifest.h"

namespace headrace::ignite {

/// The schema of the rows that were added. Memory: that of the names, of which there are at most
/// kIgniteFieldLimit. Not thread-safe.
class RowSchema {
 public:
  void add(const IgniteFeatures& row);

  /// The features that have the same type in all rows that have them. A feature that some rows lack is
  /// optional; a feature whose number of values differs is ragged.
  std::map<std::string, FeatureSchema> features() const;
  /// Texts for people about fields that are not features.
  std::vector<std::string> remarks() const;

 private:
  struct Seen {
    DataType type = DataType::kInt64;
    std::uint64_t value_count = 0;  // in the first row that has the feature
    std::uint64_t rows = 0;
    bool has_lengths = false;  // true if numbers of values differ
    bool has_types = false;    // true if types differ
  };
  bool has_room() const { return seen_.size() + unsupported_.size() < kIgniteFieldLimit; }

  std::map<std::string, Seen> seen_{};
  std::set<std::string> unsupported_{};
  std::uint64_t rows_ = 0;
  bool is_cut_ = false;
};

}  // namespace headrace::ignite
