#pragma once

/// \file The cells of one row while it is decoded.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Names and values that lie in the input are borrowed; what has to be made is kept here, in memory that is
/// used again for the next row.
class RowCells {
 public:
  void clear();
  std::size_t size() const { return cells_.size(); }

  void add_missing(std::string_view name) { add(name, CellKind::kMissing, {}); }
  void add_bytes(std::string_view name, BytesView data) { add(name, CellKind::kBytes, data); }
  void add(std::string_view name, CellKind kind, BytesView data);

  /// A place for a text that is valid until `clear`.
  std::string& keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  /// Numbers and byte strings that are made one by one go to the end of `made()`; then they become a cell,
  /// from the offset on at which they begin.
  Bytes& made() { return made_bytes_; }
  void add_made(std::string_view name, CellKind kind, std::size_t begin);

  /// One that occurs twice, if any does.
  std::optional<std::string_view> repeated_name();

  /// Valid until the next call of anything else.
  std::span<const NamedCell> cells();

 private:
  struct Made {
    std::size_t cell = 0;
    std::size_t begin = 0;  // in `made_bytes_`
    std::size_t size = 0;
  };
  std::vector<NamedCell> cells_;
  std::vector<Made> made_;
  std::vector<std::string_view> names_;  // ascending
  Bytes made_bytes_;
  std::deque<std::string> texts_;
};

}  // namespace headrace
