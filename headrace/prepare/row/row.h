#pragma once

/// \file Rows: what a source gives, and records are made of. docs/prepare.md, "Rows".

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// Numbered as in docs/formats/rows.md.
enum class CellKind : std::uint8_t {
  kMissing = 0,
  kBytes = 1,
  kReference = 2,
  kFloats = 3,
  kInt64s = 4,
  kByteStrings = 5
};

/// Bytes that lie elsewhere. Borrows its texts.
struct Reference {
  std::string_view url;        // of an object
  std::string_view version{};  // read only this one; empty: any
  /// Of a range; none: the whole object.
  std::optional<std::uint64_t> offset_bytes{};
  /// None: not known, of a whole object.
  std::optional<std::uint64_t> size_bytes{};
};

/// A value. Borrows what it shows.
struct Cell {
  CellKind kind = CellKind::kMissing;
  /// kBytes: text or bytes. kFloats, kInt64s: the numbers, little endian, four or eight bytes each.
  /// kByteStrings: a list of texts or bytes, as byte_strings.h has it.
  BytesView data{};
  Reference reference{};
};

struct NamedCell {
  std::string_view name;  // of the column
  Cell cell;
};

/// The most that one cell, a file of a folder, or a record may have, unless another limit is said.
inline constexpr std::uint64_t kCellLimitBytes = 64 << 20;
/// A row may have four times the bytes that a cell may: 256 MiB.
constexpr std::uint64_t row_limit_bytes(std::uint64_t cell_limit_bytes) {
  return 4 * std::min(cell_limit_bytes, std::uint64_t{1} << 60);
}
/// A heading, an object, a record, what a map gives.
inline constexpr std::size_t kMaxColumns = 10'000;

/// Where a row lies in its slice; ascends in the order of the input.
struct RowPlace {
  std::uint32_t file = 0;  // of the slice's files; 0 in a folder
  std::uint64_t row = 0;   // in the file, 1 is the first; in a folder: of the slice's objects
  auto operator<=>(const RowPlace&) const = default;
};

}  // namespace headrace
