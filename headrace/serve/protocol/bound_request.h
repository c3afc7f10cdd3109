#pragma once

/// \file A request of any protocol that is known to fit a signature.
///
///   HEADRACE_TRY(const auto bound, request.bind(signature));
///   HEADRACE_TRY(ReservedRows rows, batcher.reserve(bound->rows(), bound->row(),
///                                                   {.texts_bytes = bound->texts_bytes()}));
///   HEADRACE_CHECK(bound->fill(rows));
///   std::move(rows).commit([](Result<BatchAnswers> answers) { … });

#include <cstdint>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"

namespace headrace {

/// The rows of a request. If the signature is not batched, its whole tensors are one row. Owns the data that
/// it was parsed from, unless the parser's contract says otherwise. Does not keep or need the signature.
class BoundRequest {
 public:
  virtual ~BoundRequest() = default;

  /// At least 1.
  std::uint64_t rows() const { return rows_; }
  /// Type and shape of one row of each input, in the order of the signature's inputs.
  const std::vector<RowTensor>& row() const { return row_; }
  /// Total bytes of all byte strings.
  std::uint64_t texts_bytes() const { return texts_bytes_; }

  /// Writes all rows into `reserved`. Call it once, from any thread.
  /// \error kInvalidArgument  a value does not fit; the message names the row and the input. Some rows may
  ///                          already be written: give up `reserved`
  /// REQUIRES: `reserved` has rows() rows of the types and shapes of row(), and room for texts_bytes()
  virtual Status fill(ReservedRows& reserved) const = 0;

 protected:
  std::uint64_t rows_ = 0;
  std::vector<RowTensor> row_;
  std::uint64_t texts_bytes_ = 0;
};

/// The shape of one row of a tensor: `shape` without its first dimension. REQUIRES: shape.rank() > 0
inline Shape row_shape(const Shape& shape) { return Shape(shape.sizes().subspan(1)); }

}  // namespace headrace
