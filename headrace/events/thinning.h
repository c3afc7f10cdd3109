#pragma once

/// \file Selects fewer points that show the same curve. Pure. Results are indexes into the input, ascending.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// Selects at most `points` points of a curve, or all of them if there are no more. The range of steps is cut
/// into equal columns. In each column, the first least and the first greatest value are kept; the first and
/// last point of the curve are kept, too. A NaN is kept only if its column has nothing else. For fewer than 4
/// points: as `thin_evenly`. Linear in the number of points.
/// REQUIRES: `steps` do not descend, and there are as many values
std::vector<std::size_t> thin_curve(std::span<const std::int64_t> steps, std::span<const double> values,
                                    std::size_t points);

/// Selects `points` of `count`, or all if there are no more: evenly spaced, with the first and the last. For
/// one point: the last.
std::vector<std::size_t> thin_evenly(std::size_t count, std::size_t points);

}  // namespace headrace
