#include <cstdlib>
#include <utility>

#include "fuzz/script.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/table/record_source.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace {

using headrace::Bytes;
using headrace::BytesView;
using headrace::Cell;
using headrace::CellKind;
using headrace::Feature;
using headrace::RowVerdict;
using headrace::SourceRow;

constexpr std::uint64_t kCellLimitBytes = 300;

struct Stream {
  Bytes bytes{};
  std::vector<Bytes> records{};
  bool is_damaged = false;
};

// Records, and what may befall them.
Stream make_stream(headrace::Script& script) {
  Stream stream;
  while (!script.empty()) {
    const unsigned what = script.byte();
    const BytesView data = script.take(what < 0xc0 ? script.byte() : 2 * script.byte());
    const std::size_t begin = stream.bytes.size();
    if (what % 8 == 7) {
      headrace::append(stream.bytes, data);
      stream.is_damaged = true;
      continue;
    }
    headrace::append_record(stream.bytes, data);
    stream.records.emplace_back(data.begin(), data.end());
    if (what % 8 == 6) {
      stream.bytes[begin + script.byte() % (stream.bytes.size() - begin)] ^= std::byte{1};
      stream.is_damaged = true;
    } else if (what % 8 == 5) {
      stream.bytes.resize(stream.bytes.size() - script.byte() % (stream.bytes.size() - begin));
      stream.is_damaged = true;
    }
  }
  return stream;
}

template <typename Number>
void check_numbers(const Cell& cell, const std::vector<Number>& values) {
  const BytesView expected = std::as_bytes(std::span(values));
  if (headrace::as_text(cell.data) != headrace::as_text(expected)) std::abort();
}

void check_texts(const Cell& cell, const std::vector<BytesView>& texts) {
  if (cell.kind != (texts.size() == 1 ? CellKind::kBytes : CellKind::kByteStrings)) std::abort();
  if (cell.data.size() > kCellLimitBytes) std::abort();
  BytesView rest = cell.data;
  for (const BytesView text : texts) {
    const auto found = texts.size() == 1 ? std::exchange(rest, {}) : headrace::take_byte_string(rest);
    if (!found || headrace::as_text(*found) != headrace::as_text(text)) std::abort();
  }
  if (!rest.empty()) std::abort();
}

void check_cell(const Cell& cell, const Feature& feature) {
  if (const auto* floats = std::get_if<std::vector<float>>(&feature.values)) {
    if (cell.kind != CellKind::kFloats) std::abort();
    check_numbers(cell, *floats);
  } else if (const auto* int64s = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
    if (cell.kind != CellKind::kInt64s) std::abort();
    check_numbers(cell, *int64s);
  } else if (const auto* texts = std::get_if<std::vector<BytesView>>(&feature.values)) {
    check_texts(cell, *texts);
  } else if (cell.kind != CellKind::kMissing) {
    std::abort();
  }
}

// A row must be what parse_example makes of the record.
void check_row(const SourceRow& row, const Stream& stream) {
  if (row.verdict != RowVerdict::kRow && (!row.cells.empty() || row.reason.empty())) std::abort();
  if (stream.is_damaged) return;
  const Bytes& record = stream.records.at(row.place.row - 1);
  const auto features = headrace::parse_example(record);
  if (row.verdict != RowVerdict::kRow) {
    if (features && row.reason == "not a tf.Example") std::abort();
    return;
  }
  if (!features || features->size() != row.cells.size()) std::abort();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (row.cells[i].name != (*features)[i].name) std::abort();
    check_cell(row.cells[i].cell, (*features)[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::size_t piece_bytes = 1 + script.byte();
  const Stream stream = make_stream(script);
  const std::string_view content = headrace::as_text(stream.bytes);
  const auto parser = headrace::make_record_parser(kCellLimitBytes);
  const auto rows = headrace::parsed_rows(*parser, content, content.size(),
                                          [&](const SourceRow& row) { check_row(row, stream); });
  if (!stream.is_damaged && rows.size() != stream.records.size()) std::abort();
  if (headrace::parsed_rows(*parser, content, piece_bytes) != rows) std::abort();
  return 0;
}
