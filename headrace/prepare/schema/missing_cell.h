#pragma once

/// \file Cells that are missing.

#include <span>
#include <string>

#include "headrace/prepare/row/row.h"

namespace headrace {

/// Whether the cell is missing, or holds a text that counts as missing, without the white space around it.
bool is_missing(const Cell& cell, std::span<const std::string> missing);

}  // namespace headrace
