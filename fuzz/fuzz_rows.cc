#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "fuzz/script.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/sort/merged_rows.h"
#include "headrace/prepare/sort/rows_builder.h"
#include "headrace/prepare/sort/rows_reader.h"
#include "headrace/prepare/sort/sealed_spill_test.h"

namespace {

using namespace headrace;

struct Totals {
  std::size_t rows = 0;
  std::size_t cells = 0;
};

template <typename Rows>
Result<Totals> walk(Rows rows) {
  Totals totals;
  while (true) {
    HEADRACE_TRY(const auto row, rows.next());
    if (!row) return totals;
    ++totals.rows;
    if constexpr (requires { row->row; }) {
      totals.cells += row->row.cells.size();
    } else {
      totals.cells += row->cells.size();
    }
  }
}

// If a spill can be read at all, reading finds as many rows as its tables say.
void read_all(BytesView spill) {
  const Result<RowsReader> reader = RowsReader::open(spill, "spill");
  if (!reader) return;
  (void)reader->content_hashes();
  for (const RowsSplit& split : reader->splits()) {
    Result<RowRange> range = reader->read(split.name, {});
    if (!range) continue;
    const Result<Totals> whole = walk(*std::move(range));
    if (whole && whole->rows != split.rows) std::abort();
    const std::vector<SliceSpill> twice = {{&*reader, 0}, {&*reader, 1}};
    const Result<Totals> merged = walk(MergedRows(twice, split.name));
    if (whole.has_value() != merged.has_value()) std::abort();
    if (whole && (merged->rows != 2 * whole->rows || merged->cells != 2 * whole->cells)) std::abort();
    (void)walk(MergedRows(twice, split.name, {.range = {1ULL << 60, 3ULL << 62}, .hold_bytes = 1}));
  }
}

OrderedRow make_row(Script& script, std::vector<Cell>& cells, std::deque<Bytes>& lists) {
  OrderedRow row;
  row.order = std::uint64_t{script.word()} << 48;
  row.tie = script.byte();
  row.id = as_text(script.take(script.byte() % 8));
  row.place = {script.byte(), script.word()};
  cells.clear();
  lists.clear();
  for (unsigned count = script.byte() % 8; count > 0; --count) {
    Cell& cell = cells.emplace_back();
    cell.kind = static_cast<CellKind>(script.byte() % 6);
    if (cell.kind == CellKind::kReference) {
      cell.reference = {"file:///a", as_text(script.take(script.byte() % 4)), script.word(), {}};
    } else if (cell.kind == CellKind::kByteStrings) {
      Bytes& list = lists.emplace_back();
      for (unsigned texts = script.byte() % 4; texts > 0; --texts)
        append_byte_string(list, script.take(script.byte() % 8));
      cell.data = list;
    } else if (cell.kind != CellKind::kMissing) {
      cell.data = script.take(script.byte() % 32);
    }
  }
  row.cells = cells;
  return row;
}

}  // namespace

// The input as it is; and a spill of rows that it tells of, with some bytes changed and right checksums.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView input = std::as_bytes(std::span(data, size));
  read_all(input);
  Script script(input);
  const unsigned changes = script.byte() % 8;
  Script places(script.take(3 * changes));
  RowsBuilder builder;
  std::vector<Cell> cells;
  std::deque<Bytes> lists;
  std::uint64_t added = 0;
  while (!script.empty()) {
    const std::string split(1 + script.byte() % 2, 'a');
    const OrderedRow row = make_row(script, cells, lists);
    if (builder.add(split, row, ContentDigest{row.tie, row.order})) ++added;
  }
  Bytes spill = std::move(builder).finish();
  const Result<RowsReader> sound = RowsReader::open(BytesView(spill), "spill");
  if (!sound || sound->content_hashes()->size() != added) std::abort();
  std::uint64_t rows = 0;
  for (const RowsSplit& split : sound->splits()) rows += walk(*sound->read(split.name, {}))->rows;
  if (rows != added) std::abort();
  for (unsigned i = 0; i < changes; ++i) {
    const unsigned place = places.word();  // from the end, where the tables are, or from the beginning
    const std::size_t at =
        place % 2 == 0 ? place / 2 % spill.size() : spill.size() - 1 - place / 2 % spill.size();
    spill[at] = static_cast<std::byte>(places.byte());
  }
  seal_spill(spill);
  read_all(spill);
  return 0;
}
