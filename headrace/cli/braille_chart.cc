#include "headrace/cli/braille_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/page/value_scale.h"

namespace headrace {
namespace {

constexpr std::size_t kDotRows = 4;
constexpr std::size_t kNumberWidth = 12;

// Bits of a pattern's dots: by row from the top, then column (Unicode, block Braille Patterns).
constexpr std::array<std::array<unsigned, 2>, kDotRows> kDots = {
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

// The UTF-8 text of U+2800 and the dots.
std::string braille(unsigned dots) {
  return {'\xe2', static_cast<char>(0xa0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3f))};
}

std::string number_column(double value) {
  const std::string number = short_number(value);
  return concat(std::string(kNumberWidth - std::min(kNumberWidth, number.size()), ' '), number, " ");
}

}  // namespace

std::vector<std::string> braille_chart(const std::vector<BrailleColumn>& columns, std::size_t lines,
                                       bool is_log) {
  ValueScale scale(is_log);
  for (const BrailleColumn& column : columns) {
    if (!scale.shows(column.most)) continue;
    scale.include(column.most);
    scale.include(column.least);
  }
  const double rows = static_cast<double>(lines * kDotRows) - 1;
  const auto row_of = [&](double value) {
    return static_cast<std::size_t>(std::lround(rows * (1 - scale.share(value))));
  };
  std::vector<std::vector<unsigned>> patterns(lines, std::vector<unsigned>((columns.size() + 1) / 2));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!scale.shows(columns[i].most)) continue;
    const std::size_t bottom = row_of(scale.shows(columns[i].least) ? columns[i].least : scale.least());
    for (std::size_t row = row_of(columns[i].most); row <= bottom; ++row)
      patterns[row / kDotRows][i / 2] |= kDots[row % kDotRows][i % 2];
  }
  std::vector<std::string> drawn;
  for (std::size_t line = 0; line < lines; ++line) {
    const bool has_number = !scale.is_empty() && (line == 0 || line + 1 == lines);
    drawn.push_back(has_number ? number_column(line == 0 ? scale.most() : scale.least())
                               : std::string(kNumberWidth + 1, ' '));
    for (const unsigned dots : patterns[line]) drawn.back() += braille(dots);
  }
  return drawn;
}

}  // namespace headrace
