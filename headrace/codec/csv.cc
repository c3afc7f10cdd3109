#include "headrace/codec/csv.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headrace {

void CsvReader::feed(BytesView piece) {
  const std::size_t passed = row_begin_;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(passed));
  buffer_offset_bytes_ += passed;
  for (std::size_t* place : {&row_begin_, &cell_begin_, &at_}) *place -= passed;
  for (Cell& cell : cells_) cell = {cell.begin - passed, cell.end - passed, cell.is_quoted};
  const auto* const text = reinterpret_cast<const char*>(piece.data());
  buffer_.insert(buffer_.end(), text, text + piece.size());
}

std::optional<CsvRow> CsvReader::next() {
  while (true) {
    if (!scan_row()) {
      if (forgotten_bytes_ + (at_ - row_begin_) > options_.max_row_bytes) forget_row_so_far();
      const bool has_begun = at_ > row_begin_ || forgotten_bytes_ > 0;
      if (!is_finished_ || !has_begun) return std::nullopt;
      end_last_cell();
    }
    if (std::optional<CsvRow> row = take_row()) return row;
  }
}

// Scans to the end of the row, and past it. Returns false if the end is not in the buffer yet.
bool CsvReader::scan_row() {
  while (scan_cell()) {
    const bool is_last = buffer_[at_] == '\n';
    const bool has_return = is_last && at_ > cell_begin_ && buffer_[at_ - 1] == '\r';
    end_cell(at_ - (has_return ? 1 : 0));
    cell_begin_ = ++at_;
    if (is_last) return true;
  }
  return false;
}

// Scans to the delimiter or line end after the cell. Returns false if that is not in the buffer yet.
bool CsvReader::scan_cell() {
  const std::size_t size = buffer_.size();
  if (mode_ == Mode::kCellBegin) {
    if (at_ == size) return false;
    cell_is_quoted_ = buffer_[at_] == options_.quote;
    mode_ = cell_is_quoted_ ? Mode::kQuoted : Mode::kPlain;
    at_ += cell_is_quoted_ ? 1 : 0;
  }
  while (mode_ == Mode::kQuoted) {
    at_ = static_cast<std::size_t>(
        std::find(buffer_.begin() + static_cast<std::ptrdiff_t>(at_), buffer_.end(), options_.quote) -
        buffer_.begin());
    // Only the byte after a quote tells whether the quote is one half of an escaped quote.
    if (at_ == size || (at_ + 1 == size && !is_finished_)) return false;
    const bool is_text = at_ + 1 < size && buffer_[at_ + 1] == options_.quote;
    at_ += is_text ? 2 : 1;
    if (!is_text) mode_ = Mode::kPlain;
  }
  at_ = find_cell_end(at_);
  return at_ < size;
}

// The first delimiter or line end from `at` on; the end of the buffer if there is none.
std::size_t CsvReader::find_cell_end(std::size_t at) const {
  const char* const text = buffer_.data();
  const std::size_t size = buffer_.size();
#if defined(__SSE2__)
  const __m128i delimiters = _mm_set1_epi8(options_.delimiter), line_ends = _mm_set1_epi8('\n');
  for (; at + sizeof(__m128i) <= size; at += sizeof(__m128i)) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(part, delimiters), _mm_cmpeq_epi8(part, line_ends));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
    if (mask != 0) return at + static_cast<std::size_t>(std::countr_zero(mask));
  }
#endif
  while (at < size && text[at] != options_.delimiter && text[at] != '\n') ++at;
  return at;
}

void CsvReader::end_cell(std::size_t end) {
  if (cells_seen_ < options_.max_cells) {
    cells_.push_back({cell_begin_, end, cell_is_quoted_});
  } else {
    complain(CsvProblem::kTooManyCells, cells_seen_);
  }
  ++cells_seen_;
  mode_ = Mode::kCellBegin;
}

// Ends the last cell of an input without a final line end.
void CsvReader::end_last_cell() {
  at_ = buffer_.size();
  if (mode_ == Mode::kQuoted) complain(CsvProblem::kQuoteNotClosed, cells_seen_);
  if (mode_ == Mode::kCellBegin) cell_is_quoted_ = false;
  end_cell(at_);
  cell_begin_ = at_;
}

// Drops the bytes of a row that is too large, and keeps only its position.
void CsvReader::forget_row_so_far() {
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(row_begin_);
  const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(at_);
  forgotten_lines_ += static_cast<std::uint64_t>(std::count(begin, end, '\n'));
  forgotten_bytes_ += at_ - row_begin_;
  if (problem_ != CsvProblem::kRowTooLarge) problem_cell_ = cells_seen_;
  problem_ = CsvProblem::kRowTooLarge;
  cells_.clear();
  row_begin_ = cell_begin_ = at_;
}

void CsvReader::complain(CsvProblem problem, std::size_t cell) {
  if (problem_ != CsvProblem::kNone) return;
  problem_ = problem;
  problem_cell_ = cell;
}

// The row before `at_`; none if the line is empty.
std::optional<CsvRow> CsvReader::take_row() {
  if (at_ - row_begin_ > options_.max_row_bytes && problem_ != CsvProblem::kRowTooLarge) forget_row_so_far();
  const bool is_whole = forgotten_bytes_ == 0;
  const bool is_empty =
      is_whole && cells_.size() == 1 && !cells_[0].is_quoted && cells_[0].begin == cells_[0].end;
  CsvRow row{.line = lines_ + 1,
             .offset_bytes = buffer_offset_bytes_ + row_begin_ - forgotten_bytes_,
             .size_bytes = forgotten_bytes_ + (at_ - row_begin_)};
  const bool has_quotes =
      std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.is_quoted; });
  if (is_whole && !has_quotes) {
    ++lines_;
  } else {
    const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(row_begin_);
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(at_);
    lines_ += forgotten_lines_ + static_cast<std::uint64_t>(std::count(begin, end, '\n'));
  }
  views_.clear();
  if (problem_ != CsvProblem::kRowTooLarge) {
    for (std::size_t i = 0; i < cells_.size(); ++i) views_.push_back(text_of(cells_[i], i));
  }
  row.cells = views_;
  row.problem = problem_;
  row.problem_cell = problem_cell_;
  cells_.clear();
  cells_seen_ = 0;
  forgotten_bytes_ = forgotten_lines_ = 0;
  problem_ = CsvProblem::kNone;
  problem_cell_ = 0;
  row_begin_ = at_;
  if (is_empty) return std::nullopt;
  row.number = ++rows_;
  return row;
}

// The text of a cell without its quotes. The text is not longer than the cell, so it is written in place.
std::string_view CsvReader::text_of(const Cell& cell, std::size_t number) {
  char* const begin = buffer_.data() + cell.begin;
  char* const end = buffer_.data() + cell.end;
  if (!cell.is_quoted) return {begin, cell.end - cell.begin};
  char* out = begin;
  const char* from = begin + 1;
  while (from < end) {
    const char* const quote = std::find(from, static_cast<const char*>(end), options_.quote);
    out = std::copy(from, quote, out);
    if (quote == end) break;
    from = quote + 1;
    if (from < end && *from == options_.quote) {
      *out++ = *from++;
      continue;
    }
    if (from < end) complain(CsvProblem::kTextAfterQuote, number);
    out = std::copy(from, static_cast<const char*>(end), out);
    break;
  }
  return {begin, static_cast<std::size_t>(out - begin)};
}

}  // namespace headrace
