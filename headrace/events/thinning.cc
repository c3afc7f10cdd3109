#include "headrace/events/thinning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Places of the extreme values in one column.
struct Extremes {
  std::size_t least = kNone;
  std::size_t greatest = kNone;
  std::size_t no_number = kNone;
};

void consider(Extremes& column, std::span<const double> values, std::size_t place) {
  if (std::isnan(values[place])) {
    if (column.no_number == kNone) column.no_number = place;
    return;
  }
  if (column.least == kNone || values[place] < values[column.least]) column.least = place;
  if (column.greatest == kNone || values[place] > values[column.greatest]) column.greatest = place;
}

void finish(const Extremes& column, std::vector<std::size_t>& out) {
  if (column.least == kNone) {
    if (column.no_number != kNone) out.push_back(column.no_number);
    return;
  }
  out.push_back(std::min(column.least, column.greatest));
  if (column.least != column.greatest) out.push_back(std::max(column.least, column.greatest));
}

}  // namespace

std::vector<std::size_t> thin_curve(std::span<const std::int64_t> steps, std::span<const double> values,
                                    std::size_t points) {
  const std::size_t count = steps.size();
  const std::size_t columns = points < 4 ? 0 : (points - 2) / 2;
  if (count <= points || columns == 0) return thin_evenly(count, points);
  // The range may be too large for int64, but always fits into uint64.
  const auto distance = [&](std::size_t place) {
    return static_cast<std::uint64_t>(steps[place]) - static_cast<std::uint64_t>(steps.front());
  };
  const std::uint64_t width = distance(count - 1) / columns + 1;
  std::vector<std::size_t> out = {0};
  Extremes column;
  std::uint64_t number = 0;
  for (std::size_t place = 1; place + 1 < count; ++place) {
    if (const std::uint64_t next = distance(place) / width; next != number) {
      finish(column, out);
      column = {};
      number = next;
    }
    consider(column, values, place);
  }
  finish(column, out);
  out.push_back(count - 1);
  return out;
}

std::vector<std::size_t> thin_evenly(std::size_t count, std::size_t points) {
  if (count <= points) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<std::size_t> out;
  if (points == 1) out.push_back(count - 1);
  // Both numbers count samples in memory, so their product fits.
  for (std::size_t i = 0; points > 1 && i < points; ++i) out.push_back(i * (count - 1) / (points - 1));
  return out;
}

}  // namespace headrace
