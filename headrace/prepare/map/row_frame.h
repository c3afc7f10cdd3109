#pragma once

/// \file Frames that carry rows to a user's function and back: docs/formats/mapped-rows.md.

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

/// The numbers are those of the format.
enum class MappedVerdict : std::uint8_t { kRow = 0, kDropped = 1, kFailed = 2 };

/// Reuses its memory from frame to frame. Not thread-safe.
class RowFrameBuilder {
 public:
  /// Removes all rows.
  void clear();
  void begin_row();
  /// Adds a cell to the row that was begun last. Borrows `name` and the cell until `finish`. `is_text`: the
  /// bytes or byte strings are valid UTF-8, and the function receives them as text.
  /// REQUIRES: the cell is not a reference
  void add_cell(std::string_view name, const Cell& cell, bool is_text);
  /// The frame. Valid until `clear`.
  BytesView finish();

 private:
  struct FrameCell {
    std::uint32_t name = 0;
    std::uint8_t kind = 0;
    BytesView data{};
  };
  std::uint32_t number_of(std::string_view name);

  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<FrameCell> cells_;
  std::vector<std::uint32_t> counts_;  // number of cells of each row
  Bytes frame_;
};

/// Reads the rows of a frame, one after another. Not thread-safe.
class RowFrame {
 public:
  RowFrame() = default;
  /// Borrows the frame.
  /// \error kDataLoss  the bytes are not a frame
  static Result<RowFrame> parse(BytesView frame);

  std::size_t rows_left() const { return verdicts_.size() - row_; }
  struct Row {
    MappedVerdict verdict = MappedVerdict::kRow;
    /// Valid as long as the frame, and until the next call.
    std::span<const NamedCell> cells{};
  };
  /// REQUIRES: rows_left() > 0
  Row next();

 private:
  std::vector<MappedVerdict> verdicts_;
  std::vector<std::uint32_t> counts_;
  std::vector<NamedCell> cells_;
  std::size_t row_ = 0;
  std::size_t cell_ = 0;
};

}  // namespace headrace
