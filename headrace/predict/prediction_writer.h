#pragma once

/// \file The formats of predictions: docs/formats/predictions.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/evaluate/answers.h"

namespace headrace {

/// Parquet is written as CSV, which PredictionShard converts.
enum class PredictionFormat : std::uint8_t { kJsonLines, kCsv, kTfrecord, kParquet };

/// "jsonl", "csv", "tfrecord", "parquet".
std::string_view prediction_format_name(PredictionFormat format);
/// \error kInvalidArgument  no format has this name
Result<PredictionFormat> parse_prediction_format(std::string_view name);
/// ".jsonl.gz", ".csv.gz", ".tfrecord.gz", ".parquet".
std::string prediction_ending(PredictionFormat format);

/// Writes answers as bytes. Not thread-safe.
class PredictionWriter {
 public:
  /// \param names  the columns of RowName in tables, of "id", "source" and "row"
  PredictionWriter(PredictionFormat format, std::vector<std::string> names)
      : format_(format), names_(std::move(names)) {}

  /// Appends the beginning of an object: the header, for CSV.
  void begin(const AnswerFormat& answers, Bytes& out) const;
  void add(const RowName& name, const Answers& answers, std::uint64_t row, Bytes& out);

 private:
  const PredictionFormat format_;
  const std::vector<std::string> names_;
  Bytes example_;
};

}  // namespace headrace
