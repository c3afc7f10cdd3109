#pragma once

/// \file The records whose answers are farthest from the truth.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/page/record_preview.h"
#include "headrace/stream/dataset.h"

namespace headrace {

struct WorstRecord {
  std::string object;        // as the store describes it
  std::uint64_t record = 0;  // its number within the object
  /// The size of the error, above 0. Classes: the highest score minus the score of the true class. Binary and
  /// multi-label: the largest difference between a score and 0 or 1. Regression: the largest residual.
  double error = 0;
  std::vector<double> truth;  // the label's values
  std::vector<float> answer;  // the output's values
  std::uint32_t shard = 0;    // the object's number in the dataset
  /// The record's content; nullopt unless `read_previews` has read it.
  std::optional<RecordPreview> preview{};
};

/// Keeps the ten records with the largest errors, largest first; if errors are equal, the earlier record. Not
/// thread-safe.
class WorstRecords {
 public:
  static constexpr std::size_t kMost = 10;

  /// True if `add` would keep a record with that error.
  bool would_keep(double error) const {
    return error > 0 && (records_.size() < kMost || error > records_.back().error);
  }
  /// REQUIRES: would_keep(record.error)
  void add(WorstRecord record);
  const std::vector<WorstRecord>& records() const { return records_; }
  /// Reads the content of the records, for display. A record that cannot be read has no preview; returns a
  /// remark for each of these. Cost: the shard's index and a block, for each record; up to four at a time.
  /// \error kCancelled  `call.stop` was requested
  Result<std::vector<std::string>> read_previews(const Dataset& dataset, const CallOptions& call);

 private:
  std::vector<WorstRecord> records_;
};

}  // namespace headrace
