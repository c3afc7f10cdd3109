#pragma once

/// \file Reads the rows of a request as a RowSource.

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Yields the rows of the last call of `give`, numbered from 1. Use it from one thread.
class GivenRows final : public RowSource {
 public:
  /// Replaces the rows to read. Each is a JSON object, borrowed until all are read. A value {"b64": "…"}
  /// stands for the bytes that it encodes. A row that is not such an object is rejected (RowVerdict).
  void give(std::span<const std::string_view> rows);

  Result<std::optional<SourceRow>> next() override;
  std::uint64_t consumed_bytes() const override { return 0; }

 private:
  std::span<const std::string_view> rows_;
  std::size_t next_ = 0;
  RowCells cells_;
  std::vector<NamedCell> given_;  // of the current row
  std::deque<Bytes> decoded_;     // decoded cells of the current row
};

}  // namespace headrace
