#include "headrace/prepare/map/row_frame.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {
namespace {

constexpr std::uint8_t kTextKind = 6, kTextsKind = 7;

Error damaged(std::string_view what) { return {Code::kDataLoss, concat("a frame of rows ", what)}; }

// Takes parts from the front of a frame. A frame that is too short makes is_short() true.
class FrameReader {
 public:
  explicit FrameReader(BytesView rest) : rest_(rest) {}

  BytesView take(std::uint64_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      return {};
    }
    const BytesView taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::vector<std::uint32_t> numbers(std::uint64_t count) {
    const BytesView taken = take(count * sizeof(std::uint32_t));
    std::vector<std::uint32_t> out(taken.size() / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = load_little_endian<std::uint32_t>(taken.data() + i * sizeof(std::uint32_t));
    return out;
  }
  bool is_short() const { return is_short_; }
  bool is_at_end() const { return !is_short_ && rest_.empty(); }

 private:
  BytesView rest_;
  bool is_short_ = false;
};

std::uint8_t kind_number(CellKind kind, bool is_text) {
  if (!is_text) return static_cast<std::uint8_t>(kind);
  return kind == CellKind::kByteStrings ? kTextsKind : kTextKind;
}

// Translates the number of a kind. Returns false if no kind has that number, or if the data do not fit the
// kind.
bool read_kind(std::uint8_t number, BytesView data, CellKind& kind) {
  kind = number == kTextKind    ? CellKind::kBytes
         : number == kTextsKind ? CellKind::kByteStrings
                                : static_cast<CellKind>(number);
  switch (kind) {
    case CellKind::kMissing:
      return data.empty();
    case CellKind::kBytes:
      return true;
    case CellKind::kFloats:
      return data.size() % sizeof(float) == 0;
    case CellKind::kInt64s:
      return data.size() % sizeof(std::int64_t) == 0;
    case CellKind::kByteStrings:
      return count_byte_strings(data).has_value();
    default:
      return false;
  }
}

}  // namespace

void RowFrameBuilder::clear() {
  names_.clear();
  numbers_.clear();
  cells_.clear();
  counts_.clear();
}

void RowFrameBuilder::begin_row() { counts_.push_back(0); }

// All rows of a table name their columns in the same order, so the name at the same place is tried first.
std::uint32_t RowFrameBuilder::number_of(std::string_view name) {
  const std::uint32_t guess = counts_.back();
  if (guess < names_.size() && names_[guess] == name) return guess;
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

void RowFrameBuilder::add_cell(std::string_view name, const Cell& cell, bool is_text) {
  cells_.push_back({number_of(name), kind_number(cell.kind, is_text), cell.data});
  ++counts_.back();
}

BytesView RowFrameBuilder::finish() {
  frame_.clear();
  for (const std::size_t count : {counts_.size(), names_.size(), cells_.size()})
    append_little_endian(frame_, static_cast<std::uint32_t>(count));
  frame_.resize(frame_.size() + counts_.size());  // the verdicts: each is kRow
  for (const std::uint32_t count : counts_) append_little_endian(frame_, count);
  for (const std::string_view name : names_)
    append_little_endian(frame_, static_cast<std::uint32_t>(name.size()));
  for (const FrameCell& cell : cells_) append_little_endian(frame_, cell.name);
  for (const FrameCell& cell : cells_) frame_.push_back(std::byte{cell.kind});
  for (const FrameCell& cell : cells_)
    append_little_endian(frame_, static_cast<std::uint32_t>(cell.data.size()));
  for (const std::string_view name : names_) append(frame_, as_bytes(name));
  for (const FrameCell& cell : cells_) append(frame_, cell.data);
  return frame_;
}

Result<RowFrame> RowFrame::parse(BytesView bytes) {
  FrameReader reader(bytes);
  const std::vector<std::uint32_t> head = reader.numbers(3);
  if (reader.is_short()) return damaged("ends in its head");
  const auto [row_count, name_count, cell_count] = std::tuple(head[0], head[1], head[2]);
  const BytesView verdicts = reader.take(row_count);
  RowFrame frame;
  frame.counts_ = reader.numbers(row_count);
  const std::vector<std::uint32_t> name_sizes = reader.numbers(name_count);
  const std::vector<std::uint32_t> name_numbers = reader.numbers(cell_count);
  const BytesView kinds = reader.take(cell_count);
  const std::vector<std::uint32_t> cell_sizes = reader.numbers(cell_count);
  if (reader.is_short()) return damaged("ends in its tables");
  if (std::accumulate(frame.counts_.begin(), frame.counts_.end(), std::uint64_t{0}) != cell_count)
    return damaged("has other cells than its rows");
  if (std::any_of(frame.counts_.begin(), frame.counts_.end(),
                  [](std::uint32_t count) { return count > kMaxColumns; }))
    return damaged("has a row of too many cells");
  for (const std::byte verdict : verdicts) {
    frame.verdicts_.push_back(static_cast<MappedVerdict>(verdict));
    if (frame.verdicts_.back() > MappedVerdict::kFailed) return damaged("has an unknown verdict");
  }
  std::vector<std::string_view> names;
  names.reserve(name_count);
  for (const std::uint32_t size : name_sizes) names.push_back(as_text(reader.take(size)));
  frame.cells_.resize(cell_count);
  for (std::size_t i = 0; i < cell_count; ++i) {
    if (name_numbers[i] >= names.size()) return damaged("has a cell without a name");
    NamedCell& cell = frame.cells_[i];
    cell.name = names[name_numbers[i]];
    cell.cell.data = reader.take(cell_sizes[i]);
    if (!read_kind(static_cast<std::uint8_t>(kinds[i]), cell.cell.data, cell.cell.kind))
      return damaged("has a cell of an unknown kind");
  }
  if (!reader.is_at_end()) return damaged("does not end where its cells do");
  return frame;
}

RowFrame::Row RowFrame::next() {
  const std::uint32_t count = counts_[row_];
  const Row row{verdicts_[row_], std::span<const NamedCell>(cells_).subspan(cell_, count)};
  cell_ += count;
  ++row_;
  return row;
}

}  // namespace headrace
