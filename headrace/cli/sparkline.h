#pragma once

/// \file Draws a small plot in a line of text.

#include <cstddef>
#include <string>
#include <vector>

namespace headrace {

/// A plot of block characters with eight heights between the extremes, in UTF-8. It has at most `columns`
/// columns, each of which shows the mean of its values. A column without a finite value is blank.
std::string sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace headrace
