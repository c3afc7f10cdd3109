#pragma once

/// \file Filters and orders of searches for runs and similar items, in the language that MLflow documents:
///
///   metrics.loss < 0.1 AND params.`batch size` = '64' AND tags.team LIKE 'vision%' AND run_id IN ('a', 'b')
///
/// A SearchTarget says which columns exist.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

enum class Entity : std::uint8_t { kAttribute, kMetric, kParam, kTag, kDataset };

struct SearchColumn {
  Entity entity = Entity::kAttribute;
  std::string key;
};

/// No value, a number or a text.
using ColumnValue = std::variant<std::monostate, double, std::string>;

/// The columns that can be searched for.
struct SearchTarget {
  std::set<std::string, std::less<>> text_attributes;
  std::set<std::string, std::less<>> number_attributes;
  std::set<std::string, std::less<>> list_attributes;  // attributes that IN may be used with
  std::set<Entity> entities;                           // besides kAttribute
  /// Whether `params.lr >= 1e-3` compares numbers. Then a param that is no number never matches such a
  /// clause.
  bool compares_params_by_number = false;
  /// Text attributes that allow < and similar comparisons: times whose order is that of their bytes.
  std::set<std::string, std::less<>> ordered_attributes{};
};

/// The values of a column. `dataset.NAME` has several: a clause holds if it holds for one of them.
using ColumnValues = std::function<std::vector<ColumnValue>(const SearchColumn& column)>;

struct FilterClause {
  enum class Comparator : std::uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kLike,
    kIlike,
    kIn,
    kNotIn,
    kNull,
    kNotNull
  };
  SearchColumn column;
  Comparator comparator = Comparator::kEqual;
  double number = 0;
  std::vector<std::string> texts{};  // one text, or a list of texts; empty: `number` is compared
};

/// A conjunction of clauses: all must hold. Empty: everything matches.
class SearchFilter {
 public:
  /// Parses a filter: at most 64 KiB and 100 clauses. Cost: linear in the text.
  /// \error kInvalidArgument  the message says which clause is wrong, and why
  static Result<SearchFilter> parse(std::string_view text, const SearchTarget& target);
  bool matches(const ColumnValues& values_of) const;
  const std::vector<FilterClause>& clauses() const { return clauses_; }

 private:
  std::vector<FilterClause> clauses_;
};

struct SearchOrder {
  SearchColumn column;
  bool is_ascending = true;
};
/// Parses an order: "metrics.loss DESC".
/// \error kInvalidArgument  it is no order, or the target has no such column
Result<SearchOrder> parse_order(std::string_view text, const SearchTarget& target);

/// Whether `one` comes before `other`. In either direction, missing values come last, and NaN just before
/// them.
bool value_comes_before(const ColumnValue& one, const ColumnValue& other, bool is_ascending);

/// The finite number that the whole text is; none if it is anything else.
std::optional<double> finite_number(std::string_view text);

/// Whether a text matches a pattern of LIKE: % stands for any text, _ for any character. Cost: at most the
/// product of both lengths.
bool matches_like(std::string_view text, std::string_view pattern, bool ignores_case);

}  // namespace headrace
