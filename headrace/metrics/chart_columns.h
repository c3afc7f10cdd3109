#pragma once

/// \file Columns of a chart: the extremes, the last value, and the number of values in each.

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace headrace {

/// A summary of the values in a column of a chart. The first three members are NaN if no value is finite.
struct ChartColumn {
  double minimum = std::numeric_limits<double>::quiet_NaN();
  double maximum = std::numeric_limits<double>::quiet_NaN();
  double last = std::numeric_limits<double>::quiet_NaN();  // finite value, in the order of logging
  std::uint64_t finite = 0;
  std::uint64_t not_finite = 0;  // NaN and infinities
};

/// A group of values of a pyramid. It has the members of a ChartColumn.
using ValueGroup = ChartColumn;

/// Groups of values that are all finite, with the same number of points in each.
struct FiniteGroups {
  std::span<const double> minima;
  std::span<const double> maxima;
  std::span<const double> lasts;
  std::uint64_t points_each = 0;
};

/// How many of the numbers 0, distance, 2 × distance, … are at most `length`; `count` at most.
std::uint64_t regular_within(std::uint64_t distance, std::uint64_t length, std::uint64_t count);

/// Sorts values into columns by x, which is a step or a time. The columns divide the range from `first` to
/// `last`. There are `columns` of them, or fewer if the range is shorter, and their widths differ by at most
/// 1. Not thread-safe.
class ChartColumns {
 public:
  /// REQUIRES: first <= last, columns > 0
  ChartColumns(std::int64_t first, std::int64_t last, std::size_t columns);

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  /// Width of the narrowest column. No column is wider than this plus 1.
  std::uint64_t narrowest() const { return narrowest_; }

  /// The first x of a column.
  std::int64_t begin(std::size_t column) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) + begin_of(column));
  }

  // REQUIRES for the functions below: first() <= x <= last() for each x

  void add(std::int64_t x, double value);
  /// Adds values, value i at x + i × distance. `all_finite`: all values are known to be finite, which costs
  /// less.
  void add_regular(std::int64_t x, std::uint64_t distance, std::span<const double> values, bool all_finite);
  void add_group(std::int64_t x, const ValueGroup& group);
  /// Adds groups, group i at x + i × distance. Costs less than adding one after the other.
  void add_regular_groups(std::int64_t x, std::uint64_t distance, const FiniteGroups& groups);

  const std::vector<ChartColumn>& columns() const { return columns_; }
  std::vector<ChartColumn> take_columns() { return std::move(columns_); }

 private:
  /// The column that contains the place, which becomes the current one.
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
  std::uint64_t rest_ = 0;  // length of the range, minus `columns` × narrowest_
  std::vector<ChartColumn> columns_;
  // Places of the current column. A place is a distance from `first_`.
  std::size_t current_ = 0;
  std::uint64_t current_first_ = 0;
  std::uint64_t current_last_ = 0;
  std::uint64_t rounded_up_ = 0;  // the next column's first place was rounded up by this / columns_.size()
};

}  // namespace headrace
