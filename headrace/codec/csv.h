#pragma once

/// \file Text tables: bytes to rows of cells.
///
/// Source of the format: RFC 4180; where the RFC leaves a choice, the reader does what most readers do. A row
/// ends with LF, with or without CR before it. A cell that begins with a quote continues to the next quote,
/// across delimiters and line ends. Inside such a cell, two quotes stand for one. Any other quote is an
/// ordinary character. Empty lines are skipped.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"

namespace headrace {

struct CsvOptions {
  char delimiter = ',';
  char quote = '"';
  std::size_t max_row_bytes = 256 << 20;
  std::size_t max_cells = 10'000;
};

enum class CsvProblem : std::uint8_t {
  kNone,
  kTextAfterQuote,  // `"a"b`
  kQuoteNotClosed,  // until the end of the input
  kRowTooLarge,     // the row has no cells
  kTooManyCells,    // the row has the first `max_cells` cells
};

struct CsvRow {
  std::span<const std::string_view> cells;
  std::uint64_t number = 0;        // from 1; the first row of the input may be a header
  std::uint64_t line = 0;          // where the row begins, from 1
  std::uint64_t offset_bytes = 0;  // where the row begins in the input
  std::uint64_t size_bytes = 0;    // all bytes of the row, its line end included
  CsvProblem problem = CsvProblem::kNone;
  std::size_t problem_cell = 0;  // the cell with the problem, from 0
};

/// Splits an input into rows. Feed it pieces of the input, cut anywhere; after each piece, take rows until
/// there is none:
///
///   while (more) { reader.feed(piece); while (auto row = reader.next()) use(*row); }
///   reader.finish(); while (auto row = reader.next()) use(*row);
///
/// A row with a problem ends where it would end without the problem, so later rows are still read. Memory: a
/// piece and the largest row. Not thread-safe.
class CsvReader {
 public:
  explicit CsvReader(const CsvOptions& options) : options_(options) {}

  /// Copies the piece. Call it after `next` has returned none.
  void feed(BytesView piece);
  /// Call when there is no more input.
  void finish() { is_finished_ = true; }
  /// The next row. None if the reader needs another piece, or at the end. The row's cells view the reader's
  /// memory and are valid until the next call of any function.
  std::optional<CsvRow> next();

 private:
  enum class Mode : std::uint8_t { kCellBegin, kQuoted, kPlain };
  struct Cell {
    std::size_t begin = 0;  // in the buffer
    std::size_t end = 0;
    bool is_quoted = false;
  };

  bool scan_row();
  bool scan_cell();
  std::size_t find_cell_end(std::size_t at) const;
  void end_cell(std::size_t end);
  void end_last_cell();
  void forget_row_so_far();
  std::optional<CsvRow> take_row();
  std::string_view text_of(const Cell& cell, std::size_t number);
  void complain(CsvProblem problem, std::size_t cell);

  const CsvOptions options_;
  std::vector<char> buffer_;
  std::uint64_t buffer_offset_bytes_ = 0;  // in the input
  bool is_finished_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t lines_ = 0;

  // State of the current row. Places are offsets in the buffer.
  std::size_t row_begin_ = 0;
  std::size_t cell_begin_ = 0;
  std::size_t at_ = 0;  // everything before this place has been scanned
  Mode mode_ = Mode::kCellBegin;
  bool cell_is_quoted_ = false;
  std::vector<Cell> cells_;
  std::size_t cells_seen_ = 0;
  std::uint64_t forgotten_bytes_ = 0;
  std::uint64_t forgotten_lines_ = 0;
  CsvProblem problem_ = CsvProblem::kNone;
  std::size_t problem_cell_ = 0;

  std::vector<std::string_view> views_;
};

}  // namespace headrace
