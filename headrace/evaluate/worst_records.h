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
  /// How far off: classes: the highest score minus that of the true class; binary, multi-label: the largest
  /// difference of a score from 0 or 1; regression: the largest residual. Above 0.
  double error = 0;
  std::vector<double> truth;  // the label's values
  std::vector<float> answer;  // the output's values
  std::uint32_t shard = 0;    // the object's number in the dataset
  /// The record's content; none unless it was asked for.
  std::optional<RecordPreview> preview{};
};

/// The ten with the largest errors, largest first; of equal ones, those that came first.
class WorstRecords {
 public:
  static constexpr std::size_t kMost = 10;

  /// Whether `add` would keep a record with that error.
  bool would_keep(double error) const {
    return error > 0 && (records_.size() < kMost || error > records_.back().error);
  }
  /// REQUIRES: would_keep(record.error)
  void add(WorstRecord record);
  const std::vector<WorstRecord>& records() const { return records_; }
  /// Reads the records' content for people. A record that cannot be read has no preview; returns a remark
  /// about each of those. Cost: the shard's index and a block of it, for each record.
  /// \error kCancelled  stopped
  Result<std::vector<std::string>> read_previews(const Dataset& dataset, const CallOptions& call);

 private:
  std::vector<WorstRecord> records_;
};

}  // namespace headrace
