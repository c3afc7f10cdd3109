#pragma once

/// \file A curve without a form: the non-increasing steps nearest to the measured means.

#include <vector>

#include "headrace/study/measured_curve.h"

namespace headrace {

/// The isotonic regression of the means: the non-increasing values with the least weighted sum of squared
/// distances, by pooling adjacent violators (Barlow et al., 1972). Returns one value for each point. Pure.
std::vector<double> isotonic_errors(const std::vector<CurvePoint>& points);

/// The sizes where the measured mean is more than three standard errors from the isotonic value: the curve
/// does not fall there, and no form holds.
std::vector<double> sizes_that_rise(const std::vector<CurvePoint>& points);

}  // namespace headrace
