#include "headrace/metrics/chart_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kLanes = 4;

void widen_column(ChartColumn& column, double minimum, double maximum) {
  // A comparison with NaN is false.
  if (!(column.minimum <= minimum) && !std::isnan(minimum)) column.minimum = minimum;
  if (!(column.maximum >= maximum) && !std::isnan(maximum)) column.maximum = maximum;
}

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }

// Runs several chains of comparisons at once.
void add_finite(ChartColumn& column, std::span<const double> values) {
  static_assert(kLanes == 4);
  std::array<double, kLanes> least;
  std::array<double, kLanes> most;
  least.fill(values.front());
  most.fill(values.front());
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      least[lane] = smaller(values[i + lane], least[lane]);
      most[lane] = larger(values[i + lane], most[lane]);
    }
  }
  for (; i < values.size(); ++i) {
    least[0] = smaller(values[i], least[0]);
    most[0] = larger(values[i], most[0]);
  }
  widen_column(column, smaller(smaller(least[0], least[1]), smaller(least[2], least[3])),
               larger(larger(most[0], most[1]), larger(most[2], most[3])));
  column.last = values.back();
  column.finite += values.size();
}

void add_any(ChartColumn& column, double value) {
  if (!std::isfinite(value)) {
    ++column.not_finite;
    return;
  }
  widen_column(column, value, value);
  column.last = value;
  ++column.finite;
}

}  // namespace

std::uint64_t regular_within(std::uint64_t distance, std::uint64_t length, std::uint64_t count) {
  if (distance == 0) return count;
  const std::uint64_t whole = distance == 1 ? length : length / distance;  // division is slower
  return whole < count ? whole + 1 : count;                                // 1 more could be 2⁶⁴
}

ChartColumns::ChartColumns(std::int64_t first, std::int64_t last, std::size_t columns)
    : first_(first), last_(last) {
  const Wide length = Wide(place_of(last)) + 1;
  columns_.resize(static_cast<std::size_t>(std::min<Wide>(length, columns)));
  narrowest_ = static_cast<std::uint64_t>(
      std::min<Wide>(length / columns_.size(), std::numeric_limits<std::uint64_t>::max()));
  rest_ = static_cast<std::uint64_t>(length % columns_.size());
  go_to(0);
}

// The first place whose place × columns / length is `column`: column × length / columns, rounded up.
std::uint64_t ChartColumns::begin_of(std::size_t column) const {
  return column * narrowest_ + (column * rest_ + columns_.size() - 1) / columns_.size();
}

void ChartColumns::go_to(std::size_t column) {
  current_ = column;
  current_first_ = begin_of(column);
  current_last_ = column + 1 == columns_.size() ? place_of(last_) : begin_of(column + 1) - 1;
  const std::uint64_t remainder = (column + 1) * rest_ % columns_.size();
  rounded_up_ = remainder == 0 ? 0 : columns_.size() - remainder;
}

// Like go_to, but without its divisions.
void ChartColumns::go_to_next() {
  const bool is_wide = rest_ > rounded_up_;
  rounded_up_ += (is_wide ? columns_.size() : 0) - rest_;
  ++current_;
  current_first_ = current_last_ + 1;
  current_last_ += narrowest_ + std::uint64_t{is_wide};
}

ChartColumn& ChartColumns::column_at(std::uint64_t place) {
  if (place > current_last_ && current_ + 1 < columns_.size()) go_to_next();  // the most likely case
  if (place < current_first_ || place > current_last_) {
    const Wide length = Wide(place_of(last_)) + 1;
    place = std::min(place, place_of(last_));  // damaged samples may lie outside the range
    go_to(static_cast<std::size_t>(Wide(place) * columns_.size() / length));
  }
  return columns_[current_];
}

void ChartColumns::add(std::int64_t x, double value) { add_any(column_at(place_of(x)), value); }

void ChartColumns::add_regular(std::int64_t x, std::uint64_t distance, std::span<const double> values,
                               bool all_finite) {
  std::uint64_t place = place_of(x);
  while (!values.empty()) {
    ChartColumn& column = column_at(place);
    const std::uint64_t here = regular_within(distance, current_last_ - place, values.size());
    if (all_finite) {
      add_finite(column, values.first(here));
    } else {
      for (const double value : values.first(here)) add_any(column, value);
    }
    values = values.subspan(here);
    place += here * distance;
  }
}

void ChartColumns::add_regular_groups(std::int64_t x, std::uint64_t distance, const FiniteGroups& groups) {
  const std::size_t count = groups.minima.size();
  std::uint64_t place = place_of(x);
  for (std::size_t i = 0; i < count;) {
    ChartColumn& column = column_at(place);
    const std::size_t begin = i;
    double minimum = groups.minima[i];
    double maximum = groups.maxima[i];
    for (++i, place += distance; i < count && place <= current_last_; ++i, place += distance) {
      minimum = smaller(groups.minima[i], minimum);
      maximum = larger(groups.maxima[i], maximum);
    }
    widen_column(column, minimum, maximum);
    column.last = groups.lasts[i - 1];
    column.finite += (i - begin) * groups.points_each;
  }
}

void ChartColumns::add_group(std::int64_t x, const ValueGroup& group) {
  ChartColumn& column = column_at(place_of(x));
  widen_column(column, group.minimum, group.maximum);
  if (group.finite > 0) column.last = group.last;
  column.finite += group.finite;
  column.not_finite += group.not_finite;
}

}  // namespace headrace
