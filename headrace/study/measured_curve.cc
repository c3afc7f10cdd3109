#include "headrace/study/measured_curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr double kPriorSlope = -0.25;  // slope of ln(relative spread) over ln(size)
constexpr double kPriorSlopeSpread = 0.25;
constexpr double kLeastError = 1e-12, kMostError = 1e12;  // their squares are far from double's limits
constexpr double kLeastRelativeSpread = 1e-4;

// Mean and variance of ln(χ²/degrees), accurate enough for weights: −1/d − 1/(3d²) and 2/d + 2/d².
double mean_log_variance(double degrees) { return -1 / degrees - 1 / (3 * degrees * degrees); }
double variance_of_log_variance(double degrees) { return 2 / degrees + 2 / (degrees * degrees); }

struct Line {
  double middle = 0;  // ln(size) where the value is `value`
  double value = 0;
  double slope = kPriorSlope;
  double at(double log_size) const { return value + slope * (log_size - middle); }
};

double sample_variance(const CurvePoint& point) {
  double sum = 0;
  for (const double error : point.errors) sum += (error - point.mean) * (error - point.mean);
  return sum / static_cast<double>(point.errors.size() - 1);
}

// Fits ln(relative spread) over ln(size) to the sizes with at least two runs.
std::optional<Line> line_of_spreads(const std::vector<CurvePoint>& points) {
  struct Known {
    double x, y, weight;
  };
  std::vector<Known> known;
  for (const CurvePoint& point : points) {
    if (point.errors.size() < 2) continue;
    const auto degrees = static_cast<double>(point.errors.size() - 1);
    const double relative = std::max(sample_variance(point) / (point.mean * point.mean),
                                     kLeastRelativeSpread * kLeastRelativeSpread);
    known.push_back({std::log(point.size), (std::log(relative) - mean_log_variance(degrees)) / 2,
                     4 / variance_of_log_variance(degrees)});
  }
  if (known.empty()) return std::nullopt;
  double weight = 0, x = 0, y = 0;
  for (const Known& one : known) {
    weight += one.weight;
    x += one.weight * one.x;
    y += one.weight * one.y;
  }
  Line line{x / weight, y / weight};
  double across = kPriorSlope / (kPriorSlopeSpread * kPriorSlopeSpread),
         along = 1 / (kPriorSlopeSpread * kPriorSlopeSpread);
  for (const Known& one : known) {
    across += one.weight * (one.x - line.middle) * (one.y - line.value);
    along += one.weight * (one.x - line.middle) * (one.x - line.middle);
  }
  line.slope = across / along;
  return line;
}

// Estimates the spread from second differences of three neighbouring values with equal noise. Each difference
// is divided by its own scale, because the distances are unequal.
Line line_of_differences(const std::vector<CurvePoint>& points) {
  double sum = 0, middle = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i + 2 < points.size(); ++i) {
    const double a = std::log(points[i].size), b = std::log(points[i + 1].size),
                 c = std::log(points[i + 2].size);
    const double left = (c - b) / (c - a), right = (b - a) / (c - a);
    const double difference =
        std::log(points[i + 1].mean) - left * std::log(points[i].mean) - right * std::log(points[i + 2].mean);
    sum += difference * difference / (1 + left * left + right * right);
    ++count;
  }
  for (const CurvePoint& point : points) middle += std::log(point.size) / static_cast<double>(points.size());
  const double variance = sum / static_cast<double>(std::max<std::size_t>(count, 1));
  return {middle, std::log(std::max(std::sqrt(variance), 0.01)), 0};
}

Status check_run(const MeasuredError& run) {
  if (!(run.size >= 1) || !(run.size <= 1e15))
    return Error{Code::kInvalidArgument,
                 concat("a size of ", run.size, " records; sizes are from 1 to 10^15")};
  if (!(run.error >= kLeastError && run.error <= kMostError))
    return Error{Code::kInvalidArgument,
                 concat("an error of ", run.error, " at ", run.size,
                        " records; a curve needs errors above 0: leave out runs that failed, and test on "
                        "more records if every prediction was right")};
  if (!std::isfinite(run.seconds) || run.seconds < 0)
    return Error{Code::kInvalidArgument, concat(run.seconds, " seconds at ", run.size, " records")};
  return {};
}

}  // namespace

double CurvePoint::standard_error() const { return spread / std::sqrt(static_cast<double>(errors.size())); }

Result<std::vector<CurvePoint>> summarise_curve(const std::vector<MeasuredError>& runs) {
  if (runs.size() > kMostCurveRuns)
    return Error{Code::kInvalidArgument, concat("a curve has at most ", kMostCurveRuns, " runs")};
  std::map<double, std::vector<MeasuredError>> by_size;
  for (const MeasuredError& run : runs) {
    HEADRACE_CHECK(check_run(run));
    by_size[run.size].push_back(run);
  }
  if (by_size.size() < kLeastCurveSizes || by_size.size() > kMostCurveSizes)
    return Error{Code::kInvalidArgument,
                 concat("the curve has ", by_size.size(), " sizes; it needs ", kLeastCurveSizes, " to ",
                        kMostCurveSizes, ", preferably 5 or more, each twice the previous one")};
  std::vector<CurvePoint> points;
  for (const auto& [size, of_size] : by_size) {
    CurvePoint& point = points.emplace_back();
    point.size = size;
    double timed = 0, seconds = 0;
    for (const MeasuredError& run : of_size) {
      point.errors.push_back(run.error);
      point.mean += run.error / static_cast<double>(of_size.size());
      seconds += run.seconds;
      timed += run.seconds > 0 ? 1 : 0;
    }
    point.seconds = timed > 0 ? seconds / timed : 0;
    std::sort(point.errors.begin(), point.errors.end());
  }
  const Line line = line_of_spreads(points).value_or(line_of_differences(points));
  for (CurvePoint& point : points)
    point.spread = point.mean * std::max(kLeastRelativeSpread, std::exp(line.at(std::log(point.size))));
  return points;
}

}  // namespace headrace
