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

/// Borrows names and values that lie in the input. Values that must be built are kept here, in memory that is
/// reused for the next row. Not thread-safe.
class RowCells {
 public:
  void clear();
  std::size_t size() const { return cells_.size(); }

  void add_missing(std::string_view name) { add(name, CellKind::kMissing, {}); }
  void add_bytes(std::string_view name, BytesView data) { add(name, CellKind::kBytes, data); }
  void add(std::string_view name, CellKind kind, BytesView data);

  /// Keeps a text, which is valid until `clear`.
  std::string& keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  /// To build a list of numbers or byte strings, append its values to `made()`. Then `add_made` turns the
  /// bytes from offset `begin` on into a cell.
  Bytes& made() { return made_bytes_; }
  void add_made(std::string_view name, CellKind kind, std::size_t begin);

  /// A name that occurs twice; nullopt if all names differ.
  std::optional<std::string_view> repeated_name();

  /// The cells so far. Valid until any other function is called.
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
