#pragma once

/// \file Shows points of a run as lines, one for each step. Pure.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/metrics/follow.h"

namespace headrace {

/// The metrics that a rank has logged at a step.
struct StepLine {
  std::uint64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t time_us = 0;               // of the first point
  std::map<std::string, double> metrics;  // by name
};

/// Groups points into lines, sorted by time. A new line begins when the rank goes to another step, or logs a
/// metric of the same step again.
std::vector<StepLine> step_lines(std::vector<NewPoint> points);

/// Aligns the columns of lines. Columns become wider as the lines need it.
class StepLineFormat {
 public:
  /// Formats a line: "step   120  2026-11-21T03:26:00.125Z  accuracy=0.98  loss=0.05"; for ranks above 0,
  /// "rank 3  step …". `shown` makes a name safe for a terminal.
  std::string line(const StepLine& step, const std::function<std::string(std::string_view)>& shown);

 private:
  std::size_t step_width_ = 0;
  std::map<std::string, std::size_t, std::less<>> widths_;  // of "metric=value", by metric
};

}  // namespace headrace
