#include "headrace/run_index/conditions.h"

#include <array>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Comparator = FilterClause::Comparator;

std::string_view symbol_of(Comparator comparator) {
  constexpr std::array<std::string_view, 6> kSymbols = {"=", "!=", "<", "<=", ">", ">="};
  return kSymbols.at(static_cast<std::size_t>(comparator));
}

// The condition of a clause on a text column.
Sql text_condition(const std::string& column, const FilterClause& clause) {
  const bool is_like = clause.comparator == Comparator::kLike || clause.comparator == Comparator::kIlike;
  if (is_like) {
    const bool ignores_case = clause.comparator == Comparator::kIlike;
    return {concat("matches_like(", column, ", ?, ?)"), {clause.texts[0], std::int64_t{ignores_case}}};
  }
  if (clause.comparator != Comparator::kIn && clause.comparator != Comparator::kNotIn)
    return {concat(column, " ", symbol_of(clause.comparator), " ?"), {clause.texts[0]}};
  Sql sql{concat(column, clause.comparator == Comparator::kIn ? " IN (" : " NOT IN (")};
  for (const std::string& text : clause.texts) sql.add(sql.values.empty() ? "?" : ", ?", {text});
  return sql.add(")");
}

// The index stores NaN as NULL, and NaN differs from every number.
Sql number_condition(const std::string& column, const FilterClause& clause, bool has_nan) {
  Sql sql{concat(column, " ", symbol_of(clause.comparator), " ?"), {clause.number}};
  if (has_nan && clause.comparator == Comparator::kNotEqual)
    sql.text = concat("(", sql.text, " OR ", column, " IS NULL)");
  return sql;
}

Sql condition_of(const FilterClause& clause, const ColumnPlaces& places) {
  const std::string& key = clause.column.key;
  const Entity entity = clause.column.entity;
  const bool is_number = clause.texts.empty();
  if (entity == Entity::kAttribute) {
    const std::string column = places.attribute(key);
    return is_number ? number_condition(column, clause, false) : text_condition(column, clause);
  }
  Sql sql{
      concat("EXISTS (SELECT 1 FROM ", places.table_of(entity), " c WHERE c.run = r.number AND c.name = ?"),
      {key}};
  if (clause.comparator == Comparator::kNull) sql.text.insert(0, "NOT ");
  if (clause.comparator != Comparator::kNull && clause.comparator != Comparator::kNotNull) {
    const std::string column = is_number && entity == Entity::kParam ? "c.number" : "c.value";
    Sql condition = is_number ? number_condition(column, clause, entity == Entity::kMetric)
                              : text_condition(column, clause);
    sql.add(" AND ").add(condition.text, std::move(condition.values));
  }
  return sql.add(")");
}

}  // namespace

std::string_view ColumnPlaces::table_of(Entity entity) const {
  return entity == Entity::kMetric ? metrics : entity == Entity::kParam ? parameters : "tags";
}

Sql conditions_of(const SearchFilter& filter, const ColumnPlaces& places) {
  Sql sql;
  for (const FilterClause& clause : filter.clauses()) {
    Sql condition = condition_of(clause, places);
    sql.add(" AND ").add(condition.text, std::move(condition.values));
  }
  return sql;
}

}  // namespace headrace
