#pragma once

/// \file Finds the class in a one-hot row of a label.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace headrace {

/// The index of the only 1 among zeros; −1 if there are only zeros; none if there are other values.
template <typename Number>
std::optional<std::int64_t> place_of_one(std::span<const Number> row) {
  std::int64_t place = -1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    if (row[i] != 1 || place >= 0) return std::nullopt;
    place = static_cast<std::int64_t>(i);
  }
  return place;
}

}  // namespace headrace
