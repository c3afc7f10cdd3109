#pragma once

/// \file Decodes records into the rows of a batch.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/stream/batch.h"
#include "headrace/stream/dataset.h"
#include "headrace/stream/source.h"

namespace headrace {

/// One thread at a time; each thread has its own.
class BatchMaker {
 public:
  /// \error kInvalidArgument  two columns of one name
  static Result<BatchMaker> create(const std::vector<Column>& columns, CorruptionPolicy policy);

  /// Names a row's record for people: "record 7 of s3://…".
  using Describe = std::function<std::string(std::size_t row)>;
  /// The batch's i-th record, of all ranks; none beyond the last.
  using RecordOfBatch = std::function<std::optional<Window::Place>(std::uint64_t i)>;
  /// Fills the batch: row i from `places[i]`. Rows beyond, and those of records that cannot be had or
  /// decoded, get weight 0 and the first good one of all `record`s; without one, zeros and empty rows.
  /// \error kDataLoss, kInvalidArgument  a record that cannot be decoded, under CorruptionPolicy::kFail
  Status make(std::span<const Window::Place> places, const RecordOfBatch& record, const Describe& describe,
              Batch& batch);

  /// Rows that were holes since the last call, and remarks about them, the first hundred.
  std::uint64_t take_corrupt_records() { return std::exchange(corrupt_records_, 0); }
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  BatchMaker(ExampleDecoder decoder, CorruptionPolicy policy);
  void point_to(const Batch& batch);
  void end_row(const Batch& batch, std::size_t row, bool is_good);
  Result<bool> decode(const Window::Place& place, const Describe& describe, std::size_t row);
  bool repeat(const RecordOfBatch& record, std::uint64_t& first_good, std::size_t row);
  void clear(const Batch& batch, std::size_t row);
  void gather_strings(const Batch& batch);
  void note(std::string message);

  ExampleDecoder decoder_;
  CorruptionPolicy policy_;
  std::vector<ColumnBuffer> buffers_;            // of the batch that is being made
  std::vector<std::vector<BytesView>> strings_;  // by column; of byte columns
  std::uint64_t corrupt_records_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
