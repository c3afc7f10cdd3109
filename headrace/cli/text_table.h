#pragma once

/// \file Formats tables for a terminal.

#include <string>
#include <vector>

namespace headrace {

enum class Align { kLeft, kRight };

/// Formats rows as lines with aligned columns, two spaces apart. All rows must have the same number of cells.
/// `alignment` applies to all columns but the first, which is aligned to the left. Widths are counted in
/// bytes.
std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows, Align alignment);

}  // namespace headrace
