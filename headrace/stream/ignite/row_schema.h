#pragma once

/// \file The schema of rows: which features they had, of which type, and how many values of each.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/record/ignite_example.h"
#include "headrace/record/manifest.h"

namespace headrace::ignite {

/// Not thread-safe. Memory: that of the names, of which there are at most kIgniteFieldLimit.
class RowSchema {
 public:
  void add(const IgniteFeatures& row);

  /// The features that all rows which have them have with one type.
  std::map<std::string, FeatureSchema> features() const;
  /// Texts for people about fields that are no features.
  std::vector<std::string> remarks() const;

 private:
  struct Seen {
    DataType type = DataType::kInt64;
    std::uint64_t value_count = 0;  // of the first row that has it
    std::uint64_t rows = 0;
    bool has_lengths = false;  // differing ones
    bool has_types = false;    // differing ones
  };
  bool has_room() const { return seen_.size() + formless_.size() < kIgniteFieldLimit; }

  std::map<std::string, Seen> seen_{};
  std::set<std::string> formless_{};
  std::uint64_t rows_ = 0;
  bool is_cut_ = false;
};

}  // namespace headrace::ignite
