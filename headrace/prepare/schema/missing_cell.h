#pragma once

/// \file Cells that are missing.

#include <span>
#include <string>

#include "headrace/prepare/row/row.h"

namespace headrace {

/// True if the cell is missing, or holds a text in `missing`, apart from surrounding white space.
bool is_missing(const Cell& cell, std::span<const std::string> missing);

}  // namespace headrace
