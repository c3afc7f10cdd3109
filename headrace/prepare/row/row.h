#pragma once

/// \file Rows: a source produces them, and records are made from them. docs/prepare.md, "Rows".

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

/// Bytes that lie in an object of a store. Borrows its texts.
struct Reference {
  std::string_view url;        // of the object
  std::string_view version{};  // only this version is read; empty: any version
  /// Where the range begins; nullopt: the reference is to the whole object.
  std::optional<std::uint64_t> offset_bytes{};
  /// Size of the range or object; nullopt: the size of the whole object is not known.
  std::optional<std::uint64_t> size_bytes{};
};

/// A value. Borrows its data and texts.
struct Cell {
  CellKind kind = CellKind::kMissing;
  /// kBytes: text or bytes. kFloats, kInt64s: the numbers, little endian, four or eight bytes each.
  /// kByteStrings: a list of texts or bytes in the encoding of byte_strings.h.
  BytesView data{};
  Reference reference{};
};

struct NamedCell {
  std::string_view name;  // of the column
  Cell cell;
};

/// Default size limit for one cell, one file of a folder, or one record.
inline constexpr std::uint64_t kCellLimitBytes = 64 << 20;
/// A row may have four times as many bytes as a cell: 256 MiB by default.
constexpr std::uint64_t row_limit_bytes(std::uint64_t cell_limit_bytes) {
  return 4 * std::min(cell_limit_bytes, std::uint64_t{1} << 60);
}
/// The most columns in a header, a JSON object, a record, or a row that a map returns.
inline constexpr std::size_t kMaxColumns = 10'000;

/// The place of a row in its slice. Places ascend in the order of the input.
struct RowPlace {
  std::uint32_t file = 0;  // index into the slice's files; 0 in a folder
  std::uint64_t row = 0;   // number in the file, from 1; in a folder: number among the slice's objects
  auto operator<=>(const RowPlace&) const = default;
};

}  // namespace headrace
