#pragma once

/// \file Filters, orders and pages of MLflow's searches, in the language that MLflow documents:
///
///   metrics.loss < 0.1 AND params.`batch size` = '64' AND tags.team LIKE 'vision%' AND run_id IN ('a', 'b')

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/result.h"

namespace headrace::mlflow {

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
};
const SearchTarget& run_target();
const SearchTarget& experiment_target();
const SearchTarget& model_target();

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
  std::vector<std::string> texts{};  // one, but for lists
};

/// Clauses that must all hold.
class SearchFilter {
 public:
  /// \error kInvalidArgument  the message says which clause, and why. Time: linear in the text, which has at
  ///                          most 64 KiB
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
bool comes_before(const ColumnValue& one, const ColumnValue& other, bool is_ascending);

/// Whether a text matches a pattern of LIKE: % any text, _ any character. Time: at most the product of both.
bool matches_like(std::string_view text, std::string_view pattern, bool ignores_case);

/// A part of a list.
struct ListPage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string next_token{};  // empty: it is the last one
};
/// \error kInvalidArgument  `token` is none that this function has made
Result<ListPage> find_page(std::size_t count, std::string_view token, std::size_t most);

}  // namespace headrace::mlflow
