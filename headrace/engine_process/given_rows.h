#pragma once

/// \file The rows of requests as a source of rows.

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Yields the rows that it was given last, numbered from 1. One thread.
class GivenRows final : public RowSource {
 public:
  /// `rows`: objects of JSON, borrowed until all are read. A value {"b64": "…"} stands for the bytes that it
  /// encodes.
  void give(std::span<const std::string_view> rows);

  Result<std::optional<SourceRow>> next() override;
  std::uint64_t consumed_bytes() const override { return 0; }

 private:
  std::span<const std::string_view> rows_;
  std::size_t next_ = 0;
  RowCells cells_;
  std::vector<NamedCell> given_;  // of the current row
  std::deque<Bytes> decoded_;     // bytes of its cells
};

}  // namespace headrace
