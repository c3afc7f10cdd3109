#pragma once

/// \file A request of any protocol, once it is known to fit a signature.
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

/// The rows of a request. A signature that is not batched has one row, which is its whole tensors. Owns what
/// it was parsed from, unless the parser's contract says otherwise; the signature need not live on.
class BoundRequest {
 public:
  virtual ~BoundRequest() = default;

  /// At least 1.
  std::uint64_t rows() const { return rows_; }
  /// Type and shape of a row of each input, in the order of the signature's inputs.
  const std::vector<RowTensor>& row() const { return row_; }
  /// Bytes of all byte strings together.
  std::uint64_t texts_bytes() const { return texts_bytes_; }

  /// Writes all rows. Call it once, from any thread.
  /// \error kInvalidArgument  a value does not fit; the message names the row and the input. Some rows are
  ///                          then written: give them up
  /// REQUIRES: `reserved` has these rows, of this type and shape, and room for the texts
  virtual Status fill(ReservedRows& reserved) const = 0;

 protected:
  std::uint64_t rows_ = 0;
  std::vector<RowTensor> row_;
  std::uint64_t texts_bytes_ = 0;
};

/// The shape of a row of a tensor: without the first dimension. REQUIRES: shape.rank() > 0
inline Shape row_shape(const Shape& shape) { return Shape(shape.sizes().subspan(1)); }

}  // namespace headrace
