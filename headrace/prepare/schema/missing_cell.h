#pragma once

/// \file Cells that are missing.

#include <span>
#include <string>

#include "headrace/prepare/row/row.h"

namespace headrace {

/// Whether the cell is missing, or a text that counts as missing. White space around the text does not matter.
bool is_missing(const Cell& cell, std::span<const std::string> missing);

}  // namespace headrace
