#pragma once

/// \file The rows for which a model predicts, in pieces. Each piece becomes one object of predictions.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/coordinate/configuration.h"
#include "headrace/evaluate/answers.h"
#include "headrace/stream/batch.h"

namespace headrace {

/// Rows as the model takes them: the columns of its inputs come first (BatchTensors). Rows of weight 0 get no
/// answer.
struct PredictRows {
  Batch batch;
  std::vector<RowName> names;  // one for each row
  /// For raw rows: the number of each real row, as its source counts. Rows without a number only fill up.
  std::vector<std::uint64_t> numbers{};
};

/// Reads the rows of one piece, front to back. Not thread-safe.
class PieceReader {
 public:
  virtual ~PieceReader() = default;

  /// The next rows; nullopt at the end.
  /// \error kCancelled  `stop` was requested
  /// \error of the input, if rows cannot be read and must not be left out
  virtual Result<std::optional<PredictRows>> next() = 0;
  /// The number of records or rows so far that could not be read, and were left out.
  virtual std::uint64_t left_out() const = 0;
  /// Remarks about the records that were left out, for people; at most a hundred.
  virtual std::vector<std::string> remarks() const = 0;
};

/// Thread-safe.
class PredictInput {
 public:
  virtual ~PredictInput() = default;

  /// The input and everything that determines how it is read, for the configuration of the predictions.
  virtual Configuration configuration() const = 0;
  virtual std::size_t pieces() const = 0;
  /// The columns of RowName that rows of this input may have: "id", "source", "row".
  virtual std::vector<std::string> names() const = 0;
  /// The total number of rows, for progress; 0 if it is not known.
  virtual std::uint64_t records() const = 0;
  virtual std::vector<std::string> remarks() const = 0;
  /// Opens one piece. The reader borrows this input.
  /// \param piece       less than `pieces()`
  /// \param batch_size  rows of a batch; the last batch may be filled up with rows of weight 0
  virtual Result<std::unique_ptr<PieceReader>> open(std::size_t piece, std::uint64_t batch_size,
                                                    const std::stop_token& stop) const = 0;
};

}  // namespace headrace
