#pragma once

/// \file The rows that a model is to answer, in pieces: each piece becomes one object of predictions.

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
  std::vector<RowName> names;  // of each row
  /// Raw rows: the number of each that is there, as its source counts. The others only fill up.
  std::vector<std::uint64_t> numbers{};
};

/// The rows of one piece, front to back. Use it from one thread at a time.
class PieceReader {
 public:
  virtual ~PieceReader() = default;

  /// None at the end.
  /// \error kCancelled  stopped
  /// \error those of the input, where rows cannot be read and are not to be left out
  virtual Result<std::optional<PredictRows>> next() = 0;
  /// Records or rows that could not be read so far, and were left out.
  virtual std::uint64_t left_out() const = 0;
  /// About them, for people; the first hundred.
  virtual std::vector<std::string> remarks() const = 0;
};

/// Any thread.
class PredictInput {
 public:
  virtual ~PredictInput() = default;

  /// Names the input and all that decides how it is read, for the configuration of the predictions.
  virtual Configuration configuration() const = 0;
  virtual std::size_t pieces() const = 0;
  /// The columns of RowName that rows of this input may have: "id", "source", "row".
  virtual std::vector<std::string> names() const = 0;
  /// Rows in all, for progress; 0: not known.
  virtual std::uint64_t records() const = 0;
  virtual std::vector<std::string> remarks() const = 0;
  /// `batch_size`: rows of a batch, the last of which may be filled up.
  virtual Result<std::unique_ptr<PieceReader>> open(std::size_t piece, std::uint64_t batch_size,
                                                    const std::stop_token& stop) const = 0;
};

}  // namespace headrace
