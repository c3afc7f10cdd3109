#pragma once

/// \file Columns of a chart: extremes, the last value, and how many there are.

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace headrace {

/// The values of a column of a chart. The first three are NaN if none is finite.
struct ChartColumn {
  double minimum = std::numeric_limits<double>::quiet_NaN();
  double maximum = std::numeric_limits<double>::quiet_NaN();
  double last = std::numeric_limits<double>::quiet_NaN();  // in the order in which they were logged
  std::uint64_t finite = 0;
  std::uint64_t not_finite = 0;  // NaN and infinities
};

/// A group of values: ChartColumn without a place.
using ValueGroup = ChartColumn;

/// Groups of values that are all finite, with the same number of points in each.
struct FiniteGroups {
  std::span<const double> minima;
  std::span<const double> maxima;
  std::span<const double> lasts;
  std::uint64_t points_each = 0;
};

/// How many of `count` numbers at equal distances, from 0 on, are at most `length`.
std::uint64_t regular_within(std::uint64_t distance, std::uint64_t length, std::uint64_t count);

/// Sorts values into columns by x, a step or a time: `first` to `last` in as many columns as possible, at
/// most `columns`, whose widths differ by 1 at most. One thread at a time.
class ChartColumns {
 public:
  /// REQUIRES: first <= last, columns > 0
  ChartColumns(std::int64_t first, std::int64_t last, std::size_t columns);

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  /// No column is narrower; nor wider than this and 1.
  std::uint64_t narrowest() const { return narrowest_; }

  /// The first x of a column.
  std::int64_t begin(std::size_t column) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) + begin_of(column));
  }

  // REQUIRES, of each x: first() <= x <= last()

  void add(std::int64_t x, double value);
  /// Value i is at x + i × distance. `all_finite`: known to be; costs less then.
  void add_regular(std::int64_t x, std::uint64_t distance, std::span<const double> values, bool all_finite);
  void add_group(std::int64_t x, const ValueGroup& group);
  /// Group i is at x + i × distance. Costs less than one after the other.
  void add_regular_groups(std::int64_t x, std::uint64_t distance, const FiniteGroups& groups);

  const std::vector<ChartColumn>& columns() const { return columns_; }
  std::vector<ChartColumn> take_columns() { return std::move(columns_); }

 private:
  /// The column of that place, which becomes the current one.
  ChartColumn& column_at(std::uint64_t place);
  std::uint64_t place_of(std::int64_t x) const {
    return static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(first_);
  }
  std::uint64_t begin_of(std::size_t column) const;
  void go_to(std::size_t column);
  void go_to_next();

  std::int64_t first_;
  std::int64_t last_;
  std::uint64_t narrowest_ = 1;
  std::uint64_t rest_ = 0;  // the length of all, less that of `columns` narrowest ones
  std::vector<ChartColumn> columns_;
  // Places of the current column.
  std::size_t current_ = 0;
  std::uint64_t current_first_ = 0;
  std::uint64_t current_last_ = 0;
  std::uint64_t rounded_up_ = 0;  // by so many places / columns, the place where the next one begins
};

}  // namespace headrace
