#include "headrace/study/isotonic.h"

#include <cmath>

namespace headrace {

std::vector<double> isotonic_errors(const std::vector<CurvePoint>& points) {
  struct Pool {
    double mean, weight;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const CurvePoint& point : points) {
    pools.push_back({point.mean, 1 / (point.standard_error() * point.standard_error()), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean < pools.back().mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& before = pools.back();
      before.mean = (before.mean * before.weight + last.mean * last.weight) / (before.weight + last.weight);
      before.weight += last.weight;
      before.count += last.count;
    }
  }
  std::vector<double> out;
  for (const Pool& pool : pools) out.insert(out.end(), pool.count, pool.mean);
  return out;
}

std::vector<double> sizes_that_rise(const std::vector<CurvePoint>& points) {
  const std::vector<double> falling = isotonic_errors(points);
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::abs(points[i].mean - falling[i]) > 3 * points[i].standard_error()) out.push_back(points[i].size);
  }
  return out;
}

}  // namespace headrace
