#pragma once

/// \file The memory of a batch: which bytes belong to which row of which input.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// One row of one input: a tensor without the dimension of the rows. Every size is known.
struct RowTensor {
  DataType type = DataType::kFloat32;
  Shape shape{};
  bool operator==(const RowTensor&) const = default;
};

/// Where a text lies in the texts of a batch. The rows of an input of byte strings consist of these.
struct TextPlace {
  std::uint32_t offset_bytes = 0;
  std::uint32_t size_bytes = 0;
};

/// The layout of a batch of up to `rows_max` rows: for each input a region of rows, aligned to
/// kTensorAlignment, then a region for texts. A value. REQUIRES: check_layout, i.e. less than 2^32 bytes
class BatchLayout {
 public:
  BatchLayout(std::vector<RowTensor> inputs, std::uint64_t rows_max, std::uint64_t texts_bytes);

  const std::vector<RowTensor>& inputs() const { return inputs_; }
  std::uint64_t rows_max() const { return rows_max_; }
  std::uint64_t row_bytes(std::size_t input) const { return row_bytes_[input]; }
  /// Where the region of an input begins.
  std::uint64_t offset(std::size_t input) const { return offsets_[input]; }
  std::uint64_t texts_offset() const { return offsets_.back(); }
  std::uint64_t texts_bytes() const { return texts_bytes_; }
  std::uint64_t size_bytes() const { return texts_offset() + texts_bytes_; }

 private:
  std::vector<RowTensor> inputs_;
  std::uint64_t rows_max_;
  std::uint64_t texts_bytes_;
  std::vector<std::uint64_t> row_bytes_;
  std::vector<std::uint64_t> offsets_;  // one of each input, then that of the texts
};

/// Bytes of one row of all inputs. If an input has 4 GiB or more, it counts as at least 4 GiB.
std::uint64_t row_bytes_of(const std::vector<RowTensor>& inputs);

/// Checks that a BatchLayout can have these inputs and sizes.
/// \error kInvalidArgument  such a batch would take 4 GiB or more, or a size overflows
Status check_layout(const std::vector<RowTensor>& inputs, std::uint64_t rows_max, std::uint64_t texts_bytes);

/// The text whose TextPlace lies at `place`, as a view of `memory`. The place is checked, because a process
/// that is not trusted may have written it.
/// \error kDataLoss  the text lies outside the texts of the batch
/// REQUIRES: `memory` has layout.size_bytes() bytes
Result<std::string_view> text_at(const BatchLayout& layout, BytesView memory, const std::byte* place);

/// The first `rows` rows of each input, as tensors, which are views of `memory`. `views` receives the texts
/// of inputs of byte strings. Both must outlive the result. The places of texts are checked, because a
/// process that is not trusted may have written `memory`.
/// \error kDataLoss  a text lies outside the texts of the batch
/// REQUIRES: rows ≤ rows_max; `memory` has layout.size_bytes() bytes
Result<std::vector<TensorView>> tensors_of(const BatchLayout& layout, BytesView memory, std::uint64_t rows,
                                           std::vector<std::vector<std::string_view>>& views);

}  // namespace headrace
