#pragma once

/// \file Fewer points that show the same curve. Pure; results are places in what was given, ascending.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// At most `points` of a curve: the range of its steps is cut into equal columns, and of each the first least
/// and the first greatest value are kept, besides the first and last point of all; 1: only the last. Values
/// that are not numbers are kept only where a column has no others. Linear in the number of points.
/// REQUIRES: `steps` do not descend, and there are as many values
std::vector<std::size_t> thin_curve(std::span<const std::int64_t> steps, std::span<const float> values,
                                    std::size_t points);

/// `points` of `count`, evenly spaced, with the first and the last; 1: only the last.
std::vector<std::size_t> thin_evenly(std::size_t count, std::size_t points);

}  // namespace headrace
