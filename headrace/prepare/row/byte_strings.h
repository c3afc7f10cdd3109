#pragma once

/// \file The data of a cell that is a list of texts or byte strings. Each value is stored as a u32 with its
/// size, little endian, and then its bytes. The functions here check every size that they read.

#include <cstdint>
#include <limits>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

/// The largest size of one value in a list.
inline constexpr std::uint64_t kMostByteStringBytes = std::numeric_limits<std::uint32_t>::max();

/// Appends one value. REQUIRES: `value` has at most kMostByteStringBytes
inline void append_byte_string(Bytes& data, BytesView value) {
  append_little_endian(data, static_cast<std::uint32_t>(value.size()));
  append(data, value);
}

/// Removes the first value from `rest` and returns it. Returns none, and leaves `rest` as it was, if there is
/// no value or it is cut off.
inline std::optional<BytesView> take_byte_string(BytesView& rest) {
  if (rest.size() < sizeof(std::uint32_t)) return std::nullopt;
  const BytesView tail = rest.subspan(sizeof(std::uint32_t));
  const auto size = load_little_endian<std::uint32_t>(rest.data());
  if (size > tail.size()) return std::nullopt;
  rest = tail.subspan(size);
  return tail.first(size);
}

/// The number of values in a list; nullopt if the data are cut off or are not a list.
inline std::optional<std::size_t> count_byte_strings(BytesView data) {
  std::size_t count = 0;
  while (take_byte_string(data)) ++count;
  return data.empty() ? std::optional(count) : std::nullopt;
}

/// The cell to use where one value belongs. A list of one byte string becomes that byte string, and an empty
/// list becomes a missing cell. Any other cell is returned unchanged.
inline Cell single_value(const Cell& cell) {
  if (cell.kind != CellKind::kByteStrings) return cell;
  BytesView rest = cell.data;
  const std::optional<BytesView> first = take_byte_string(rest);
  if (!first) return {};
  return rest.empty() ? Cell{.kind = CellKind::kBytes, .data = *first} : cell;
}

}  // namespace headrace
