#pragma once

/// \file Fewer points that show the same curve. Pure; results are indexes into the input, ascending.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// At most `points` of a curve. The range of its steps is cut into equal columns; in each the first smallest
/// and the first greatest value are kept, besides the first and last point of all; 1: only the last point.
/// Values that are not numbers are kept only if a column has no others. Linear in the number of points.
/// REQUIRES: `steps` do not descend, and there are as many values
std::vector<std::size_t> thin_curve(std::span<const std::int64_t> steps, std::span<const double> values,
                                    std::size_t points);

/// `points` of `count`, evenly spaced, with the first and the last; 1: only the last.
std::vector<std::size_t> thin_evenly(std::size_t count, std::size_t points);

}  // namespace headrace
