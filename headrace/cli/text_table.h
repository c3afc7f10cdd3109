#pragma once

/// \file Tables in a terminal.

#include <string>
#include <vector>

namespace headrace {

enum class Align { kLeft, kRight };

/// Lines in which the cells of a column stand below each other, two spaces apart. All rows have as many
/// cells; `alignment` is of the columns after the first, which is kLeft. Widths are bytes.
std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows, Align alignment);

}  // namespace headrace
