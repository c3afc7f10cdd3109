#pragma once

/// \file The data of a cell that is a list of texts or byte strings: of each a u32, how many bytes it has,
/// little endian, and these. Nothing here trusts what it reads.

#include <cstdint>
#include <limits>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

/// That one of them may have.
inline constexpr std::uint64_t kMostByteStringBytes = std::numeric_limits<std::uint32_t>::max();

/// REQUIRES: at most kMostByteStringBytes
inline void append_byte_string(Bytes& data, BytesView value) {
  append_little_endian(data, static_cast<std::uint32_t>(value.size()));
  append(data, value);
}

/// Takes the first one off. None, and `rest` as it was: there is none, or it is cut.
inline std::optional<BytesView> take_byte_string(BytesView& rest) {
  if (rest.size() < sizeof(std::uint32_t)) return std::nullopt;
  const BytesView tail = rest.subspan(sizeof(std::uint32_t));
  const auto size = load_little_endian<std::uint32_t>(rest.data());
  if (size > tail.size()) return std::nullopt;
  rest = tail.subspan(size);
  return tail.first(size);
}

/// None: the data are cut, or no list at all.
inline std::optional<std::size_t> count_byte_strings(BytesView data) {
  std::size_t count = 0;
  while (take_byte_string(data)) ++count;
  return data.empty() ? std::optional(count) : std::nullopt;
}

/// The cell where one value belongs: of a list of one byte string that one, of an empty list nothing.
inline Cell single_value(const Cell& cell) {
  if (cell.kind != CellKind::kByteStrings) return cell;
  BytesView rest = cell.data;
  const std::optional<BytesView> first = take_byte_string(rest);
  if (!first) return {};
  return rest.empty() ? Cell{.kind = CellKind::kBytes, .data = *first} : cell;
}

}  // namespace headrace
