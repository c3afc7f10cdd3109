#pragma once

/// \file A small plot in a line of text.

#include <cstddef>
#include <string>
#include <vector>

namespace headrace {

/// Blocks of eight heights between the extremes, in UTF-8: each of at most `columns` columns is the mean of
/// its values. A column without a finite value is a blank.
std::string sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace headrace
