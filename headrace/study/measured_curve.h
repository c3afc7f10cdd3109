#pragma once

/// \file Scores measured at several sizes of training data, and a summary of each size. The CSV format is in
/// docs/formats/learning-curve.md.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// One training run: it was trained on `size` records and has this error on the test records.
struct MeasuredError {
  double size = 0;     // records, ≥ 1
  double error = 0;    // 10^−12 to 10^12; smaller is better
  double seconds = 0;  // duration of the training; 0: unknown
};

/// All runs of one size.
struct CurvePoint {
  double size = 0;
  std::vector<double> errors;  // of each run
  double mean = 0;
  double spread = 0;   // standard deviation of a single run, smoothed over the sizes
  double seconds = 0;  // mean of the runs with a known duration; 0: unknown

  /// Standard error of `mean`.
  double standard_error() const;
};

inline constexpr std::size_t kLeastCurveSizes = 3;
inline constexpr std::size_t kMostCurveRuns = 10'000;
inline constexpr std::size_t kMostCurveSizes = 100;

/// Groups runs by size, smallest first. A few runs say little about the spread at one size, so the spread is
/// smoothed: ln(spread/mean) is a line in ln(size), whose slope is shrunk towards −1/4. If no size has two
/// runs, the spread is estimated from second differences of ln(mean), which are small for a smooth curve.
/// Pure. Cost: linear in the number of runs.
/// \error kInvalidArgument  fewer than kLeastCurveSizes sizes; more than the limits; a size below 1; an error
///                          that is not a number from 10^−12 to 10^12
Result<std::vector<CurvePoint>> summarise_curve(const std::vector<MeasuredError>& runs);

/// The meaning of the scores in a file.
enum class CurveMetric : std::uint8_t {
  kError,     // or a loss: smaller is better
  kAccuracy,  // 0 to 1: the error is 1 − accuracy
};

/// Parses the CSV of docs/formats/learning-curve.md.
/// \error kDataLoss  there is no column `size` or `score`, or a cell is not a number; the message has the
///                   line
Result<std::vector<MeasuredError>> parse_curve_csv(std::string_view text, CurveMetric metric);

}  // namespace headrace
