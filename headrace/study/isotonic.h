#pragma once

/// \file A curve without a form: the falling steps nearest to the measured means.

#include <vector>

#include "headrace/study/measured_curve.h"

namespace headrace {

/// The means made to fall with size: the non-increasing values with the least weighted sum of squared
/// distances, by pooling adjacent violators (Barlow et al., 1972). One value for each point. Pure.
std::vector<double> isotonic_errors(const std::vector<CurvePoint>& points);

/// Sizes at which the measured mean is more than three standard errors away from the isotonic value: the
/// curve does not fall there, and no form holds.
std::vector<double> sizes_that_rise(const std::vector<CurvePoint>& points);

}  // namespace headrace
