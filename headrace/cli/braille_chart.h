#pragma once

/// \file Draws a chart as lines of text.

#include <cstddef>
#include <string>
#include <vector>

namespace headrace {

struct BrailleColumn {
  double least = 0;
  double most = 0;
};

/// Draws a chart in Braille patterns, as lines of UTF-8. A line has 4 rows of dots; a character has 2
/// columns. A column has all dots from `least` to `most`; it is empty if these are not finite or, with
/// `is_log`, not above 0. The highest value is at the left of the first line, the lowest at the left of the
/// last.
std::vector<std::string> braille_chart(const std::vector<BrailleColumn>& columns, std::size_t lines,
                                       bool is_log);

}  // namespace headrace
