#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/script.h"
#include "headrace/codec/csv.h"

namespace {

using headrace::BytesView;
using headrace::CsvOptions;
using headrace::CsvProblem;
using headrace::CsvReader;
using headrace::CsvRow;

struct Row {
  std::vector<std::string> cells;
  std::uint64_t number = 0, line = 0, offset_bytes = 0;
  CsvProblem problem = CsvProblem::kNone;

  bool operator==(const Row&) const = default;
};

std::vector<Row> read(BytesView input, std::size_t piece_bytes, const CsvOptions& options) {
  CsvReader reader(options);
  std::vector<Row> rows;
  const auto take = [&] {
    while (const auto row = reader.next()) {
      if (row->cells.size() > options.max_cells) std::abort();
      rows.push_back(
          {{row->cells.begin(), row->cells.end()}, row->number, row->line, row->offset_bytes, row->problem});
    }
  };
  while (!input.empty()) {
    const BytesView piece = input.first(std::min(piece_bytes, input.size()));
    input = input.subspan(piece.size());
    reader.feed(piece);
    take();
  }
  reader.finish();
  take();
  return rows;
}

// As RFC 4180 has it.
std::string write(const std::vector<Row>& rows, const CsvOptions& options) {
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (i > 0) text += options.delimiter;
      text += options.quote;
      for (const char c : row.cells[i]) text += c == options.quote ? std::string(2, c) : std::string(1, c);
      text += options.quote;
    }
    text += "\r\n";
  }
  return text;
}

void check_places(const std::vector<Row>& rows, std::size_t input_bytes) {
  const Row* last = nullptr;
  for (const Row& row : rows) {
    if (row.offset_bytes >= input_bytes) std::abort();
    if (last != nullptr &&
        (row.offset_bytes <= last->offset_bytes || row.line <= last->line || row.number != last->number + 1))
      std::abort();
    last = &row;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::Script script({reinterpret_cast<const std::byte*>(data), size});
  const CsvOptions options{.delimiter = script.byte() % 2 == 0 ? ',' : '\t',
                           .max_row_bytes = 8 + script.byte(),
                           .max_cells = 1 + script.byte() % 16};
  const std::size_t piece_bytes = 1 + script.byte();
  const BytesView input = script.take(size);
  const std::vector<Row> rows = read(input, input.size(), options);
  if (read(input, piece_bytes, options) != rows) std::abort();
  check_places(rows, input.size());
  std::vector<Row> again =
      read(headrace::as_bytes(write(rows, options)), piece_bytes, {.delimiter = options.delimiter});
  std::size_t kept = 0;
  for (const Row& row : rows) {
    if (row.cells.empty()) continue;  // too large
    if (kept == again.size() || again[kept].cells != row.cells || again[kept].problem != CsvProblem::kNone)
      std::abort();
    ++kept;
  }
  return 0;
}
