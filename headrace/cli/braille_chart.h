#pragma once

/// \file A chart in lines of text.

#include <cstddef>
#include <string>
#include <vector>

namespace headrace {

struct BrailleColumn {
  double least = 0;
  double most = 0;
};

/// Lines of Braille patterns, in UTF-8: each holds 4 rows of dots, and each character 2 columns. A column
/// has all dots from `least` to `most`; none if these are not finite or, with `is_log`, above 0. The highest
/// value and the lowest one stand at the left of the first and the last line.
std::vector<std::string> braille_chart(const std::vector<BrailleColumn>& columns, std::size_t lines,
                                       bool is_log);

}  // namespace headrace
