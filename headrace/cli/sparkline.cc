#include "headrace/cli/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace headrace {

std::string sparkline(const std::vector<double>& values, std::size_t columns) {
  static constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> means;
  const std::size_t count = std::min(columns, values.size());
  for (std::size_t column = 0; column < count; ++column) {
    double sum = 0;
    std::size_t numbers = 0;
    for (std::size_t i = column * values.size() / count; i < (column + 1) * values.size() / count; ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      ++numbers;
    }
    means.push_back(numbers == 0 ? NAN : sum / static_cast<double>(numbers));
  }
  double least = INFINITY;
  double most = -INFINITY;
  for (const double mean : means) {
    least = std::fmin(least, mean);
    most = std::fmax(most, mean);
  }
  std::string line;
  for (const double mean : means) {
    const double height = most > least ? (mean - least) / (most - least) : 0;
    line += std::isnan(mean) ? " " : kBlocks[static_cast<std::size_t>(height * 7.999)];
  }
  return line;
}

}  // namespace headrace
