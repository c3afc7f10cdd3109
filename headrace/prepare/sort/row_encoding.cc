#include "headrace/prepare/sort/row_encoding.h"

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {
namespace {

constexpr std::size_t kOrderAndTieBytes = 16;
constexpr unsigned kHasOffset = 1, kHasSize = 2;

unsigned reference_flags(const Reference& reference) {
  return (reference.offset_bytes ? kHasOffset : 0U) | (reference.size_bytes ? kHasSize : 0U);
}

std::size_t sized_bytes(std::size_t size) { return varint_size(size) + size; }

// The encoded size of a cell without the byte for its kind.
std::size_t cell_bytes(const Cell& cell) {
  switch (cell.kind) {
    case CellKind::kMissing:
      return 0;
    case CellKind::kReference: {
      const Reference& reference = cell.reference;
      return sized_bytes(reference.url.size()) + sized_bytes(reference.version.size()) + 1 +
             (reference.offset_bytes ? varint_size(*reference.offset_bytes) : 0) +
             (reference.size_bytes ? varint_size(*reference.size_bytes) : 0);
    }
    default:
      return sized_bytes(cell.data.size());
  }
}

// Whether a cell of this kind can have these data.
bool fits_kind(CellKind kind, BytesView data) {
  if (kind == CellKind::kFloats) return data.size() % sizeof(float) == 0;
  if (kind == CellKind::kByteStrings) return count_byte_strings(data).has_value();
  return kind != CellKind::kInt64s || data.size() % sizeof(std::int64_t) == 0;
}

std::byte* put_varint(std::byte* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

std::byte* put_sized(std::byte* to, BytesView bytes) {
  to = put_varint(to, bytes.size());
  return std::copy(bytes.begin(), bytes.end(), to);
}

std::byte* put_reference(std::byte* to, const Reference& reference) {
  to = put_sized(to, as_bytes(reference.url));
  to = put_sized(to, as_bytes(reference.version));
  *to++ = static_cast<std::byte>(reference_flags(reference));
  if (reference.offset_bytes) to = put_varint(to, *reference.offset_bytes);
  if (reference.size_bytes) to = put_varint(to, *reference.size_bytes);
  return to;
}

bool take_varint(BytesView bytes, std::size_t& position, std::uint64_t& value) {
  if (position < bytes.size() && bytes[position] < std::byte{0x80}) {
    value = std::to_integer<std::uint64_t>(bytes[position++]);
    return true;
  }
  return read_varint(bytes, position, value);
}

bool take_sized(BytesView bytes, std::size_t& position, BytesView& out) {
  std::uint64_t size = 0;
  if (!take_varint(bytes, position, size) || size > bytes.size() - position) return false;
  out = bytes.subspan(position, size);
  position += size;
  return true;
}

bool take_reference(BytesView bytes, std::size_t& position, Reference& reference) {
  BytesView url, version;
  if (!take_sized(bytes, position, url) || !take_sized(bytes, position, version)) return false;
  if (position == bytes.size()) return false;
  const auto flags = std::to_integer<unsigned>(bytes[position++]);
  if (flags > (kHasOffset | kHasSize)) return false;
  reference.url = as_text(url);
  reference.version = as_text(version);
  std::uint64_t number = 0;
  if ((flags & kHasOffset) != 0) {
    if (!take_varint(bytes, position, number)) return false;
    reference.offset_bytes = number;
  }
  if ((flags & kHasSize) != 0) {
    if (!take_varint(bytes, position, number)) return false;
    reference.size_bytes = number;
  }
  return true;
}

bool take_cell(BytesView bytes, std::size_t& position, Cell& cell) {
  const auto kind = std::to_integer<std::uint8_t>(bytes[position++]);
  if (kind > static_cast<std::uint8_t>(CellKind::kByteStrings)) return false;
  cell.kind = static_cast<CellKind>(kind);
  if (cell.kind == CellKind::kMissing) return true;
  if (cell.kind == CellKind::kReference) return take_reference(bytes, position, cell.reference);
  return take_sized(bytes, position, cell.data) && fits_kind(cell.kind, cell.data);
}

}  // namespace

std::strong_ordering compare_order(const EncodedRow& a, const EncodedRow& b) {
  if (a.order != b.order) return a.order <=> b.order;
  if (a.tie != b.tie) return a.tie <=> b.tie;
  return a.id <=> b.id;
}

Result<std::size_t> row_body_bytes(const OrderedRow& row) {
  if (row.cells.size() > kMaxRowCells) {
    return Error{Code::kInvalidArgument, concat("a row has ", row.cells.size(), " cells, but at most ",
                                                kMaxRowCells, " are allowed; use fewer columns")};
  }
  std::size_t size = kOrderAndTieBytes + sized_bytes(row.id.size()) + varint_size(row.place.file) +
                     varint_size(row.place.row) + row.cells.size();
  for (const Cell& cell : row.cells) {
    if (!fits_kind(cell.kind, cell.data)) {
      return Error{Code::kInvalidArgument,
                   concat("a cell of ", cell.data.size(), " bytes, which is not a whole number of values")};
    }
    size += cell_bytes(cell);
  }
  return size;
}

std::byte* write_row(std::byte* to, const OrderedRow& row, std::size_t body_bytes) {
  to = put_varint(to, body_bytes);
  store_little_endian(to, row.order);
  store_little_endian(to + sizeof row.order, row.tie);
  to = put_sized(to + kOrderAndTieBytes, as_bytes(row.id));
  to = put_varint(to, row.place.file);
  to = put_varint(to, row.place.row);
  for (const Cell& cell : row.cells) {
    *to++ = static_cast<std::byte>(cell.kind);
    if (cell.kind == CellKind::kMissing) continue;
    to = cell.kind == CellKind::kReference ? put_reference(to, cell.reference) : put_sized(to, cell.data);
  }
  return to;
}

bool read_row(BytesView bytes, std::size_t& position, EncodedRow& row) {
  BytesView body, id;
  if (!take_sized(bytes, position, body) || body.size() < kOrderAndTieBytes) return false;
  row.order = load_little_endian<std::uint64_t>(body.data());
  row.tie = load_little_endian<std::uint64_t>(body.data() + sizeof row.order);
  std::size_t at = kOrderAndTieBytes;
  std::uint64_t file = 0;
  if (!take_sized(body, at, id) || !take_varint(body, at, file) || !take_varint(body, at, row.place.row))
    return false;
  if (file > std::numeric_limits<std::uint32_t>::max()) return false;
  row.id = as_text(id);
  row.place.file = static_cast<std::uint32_t>(file);
  row.cells = body.subspan(at);
  return true;
}

bool read_cells(BytesView bytes, std::vector<Cell>& cells) {
  cells.clear();
  for (std::size_t position = 0; position < bytes.size();) {
    if (cells.size() == kMaxRowCells || !take_cell(bytes, position, cells.emplace_back())) return false;
  }
  return true;
}

}  // namespace headrace
