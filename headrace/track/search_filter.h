#pragma once

/// \file Filters and orders of searches for runs and the like, in the language that MLflow documents:
///
///   metrics.loss < 0.1 AND params.`batch size` = '64' AND tags.team LIKE 'vision%' AND run_id IN ('a', 'b')
///
/// A SearchTarget says which columns there are.

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

/// None, a number or a text.
using ColumnValue = std::variant<std::monostate, double, std::string>;

/// The columns that can be searched for.
struct SearchTarget {
  std::set<std::string, std::less<>> text_attributes;
  std::set<std::string, std::less<>> number_attributes;
  std::set<std::string, std::less<>> list_attributes;  // that IN may be used with
  std::set<Entity> entities;                           // besides attributes
  /// Whether `params.lr >= 1e-3` compares by number; a param that is none never matches such a clause.
  bool compares_params_by_number = false;
  /// Text attributes that may be compared by < and the like: times, whose order is that of their bytes.
  std::set<std::string, std::less<>> ordered_attributes{};
};

/// `dataset.NAME` is a column of several values: a clause holds if it holds for one.
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
  std::vector<std::string> texts{};  // one, but for lists; none where a number is compared
};

/// Clauses that must all hold.
class SearchFilter {
 public:
  /// \error kInvalidArgument  the message says which clause, and why. Time: linear in the text, which has at
  ///                          most 64 KiB and 100 clauses
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
/// "metrics.loss DESC".
/// \error kInvalidArgument
Result<SearchOrder> parse_order(std::string_view text, const SearchTarget& target);

/// Whether a value comes before another one. Missing values come last whatever the order is, numbers that
/// are NaN before them.
bool value_comes_before(const ColumnValue& one, const ColumnValue& other, bool is_ascending);

/// The finite number that a text is, whole; none if it is another text.
std::optional<double> finite_number(std::string_view text);

/// Whether a text matches a pattern of LIKE: % any text, _ any character. Time: at most the product of both.
bool matches_like(std::string_view text, std::string_view pattern, bool ignores_case);

}  // namespace headrace
