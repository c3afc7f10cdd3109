// Queries of the index: filters and orders as SQL with bound values.

#include <algorithm>
#include <array>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/run_index/run_index.h"

namespace headrace {
namespace {

using Comparator = FilterClause::Comparator;

constexpr int kMissing = 3;  // rank of runs without the value

// A group of runs with consecutive places in an order.
struct OrderedGroup {
  int rank = 0;
  Sql from;         // "FROM … WHERE …"
  std::string key;  // the column that is ordered by; empty: none
};

std::string_view symbol_of(Comparator comparator) {
  constexpr std::array<std::string_view, 6> kSymbols = {"=", "!=", "<", "<=", ">", ">="};
  return kSymbols.at(static_cast<std::size_t>(comparator));
}

// "run_id" is `id`; other attributes are columns of their names, which the target has checked.
std::string attribute_column(const std::string& key) { return key == "run_id" ? "r.id" : concat("r.", key); }

// Whether the text in a column is as the clause has it.
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

// NaN is null in the index, and differs from every number.
Sql number_condition(const std::string& column, const FilterClause& clause, bool has_nan) {
  Sql sql{concat(column, " ", symbol_of(clause.comparator), " ?"), {clause.number}};
  if (has_nan && clause.comparator == Comparator::kNotEqual)
    sql.text = concat("(", sql.text, " OR ", column, " IS NULL)");
  return sql;
}

Sql condition_of(const FilterClause& clause) {
  const std::string& key = clause.column.key;
  const bool is_number = clause.texts.empty();
  if (clause.column.entity == Entity::kAttribute) {
    const std::string column = attribute_column(key);
    return is_number ? number_condition(column, clause, false) : text_condition(column, clause);
  }
  const bool is_metric = clause.column.entity == Entity::kMetric;
  Sql sql{concat("EXISTS (SELECT 1 FROM ", is_metric ? "metrics" : "parameters",
                 " c WHERE c.run = r.number AND c.name = ?"),
          {key}};
  if (clause.comparator == Comparator::kNull) sql.text.insert(0, "NOT ");
  if (clause.comparator != Comparator::kNull && clause.comparator != Comparator::kNotNull) {
    const std::string column = is_metric || !is_number ? "c.value" : "c.number";
    Sql condition = is_number ? number_condition(column, clause, is_metric) : text_condition(column, clause);
    sql.add(" AND ").add(condition.text, std::move(condition.values));
  }
  return sql.add(")");
}

Sql conditions_of(const RunQuery& query) {
  Sql sql;
  for (const FilterClause& clause : query.filter.clauses()) {
    Sql condition = condition_of(clause);
    sql.add(" AND ").add(condition.text, std::move(condition.values));
  }
  if (!query.output.empty()) {  // '0' follows '/'
    sql.add(" AND (r.output = ? OR (r.output > ? AND r.output < ?))",
            {query.output, query.output + "/", query.output + "0"});
  }
  return sql;
}

// Runs that have the value, then those whose value is NaN or no number, then those without one.
std::vector<OrderedGroup> groups_of(const std::optional<SearchOrder>& order) {
  if (!order) return {{0, {"FROM runs r WHERE 1"}, ""}};
  const std::string& key = order->column.key;
  if (order->column.entity == Entity::kAttribute) {
    const std::string column = attribute_column(key);
    return {{0, {concat("FROM runs r WHERE ", column, " IS NOT NULL")}, column},
            {kMissing, {concat("FROM runs r WHERE ", column, " IS NULL")}, ""}};
  }
  const bool is_metric = order->column.entity == Entity::kMetric;
  const std::string table = is_metric ? "metrics" : "parameters";
  const std::string number = is_metric ? "s.value" : "s.number";
  const std::string from =
      concat("FROM ", table, " s CROSS JOIN runs r ON r.number = s.run WHERE s.name = ? AND ", number);
  const std::string missing = concat("FROM runs r WHERE NOT EXISTS (SELECT 1 FROM ", table,
                                     " s WHERE s.run = r.number AND s.name = ?)");
  return {{0, {from + " IS NOT NULL", {key}}, number},
          {1, {from + " IS NULL", {key}}, is_metric ? "" : "s.value"},
          {kMissing, {missing, {key}}, ""}};
}

Sql select_of(const RunQuery& query, OrderedGroup group, std::size_t most) {
  Sql sql{concat("SELECT r.number, ", group.key.empty() ? "NULL" : group.key,
                 ", r.seconds, r.id, r.command, r.status, r.output, r.started ")};
  sql.add(group.from.text, std::move(group.from.values));
  Sql conditions = conditions_of(query);
  sql.add(conditions.text, std::move(conditions.values)).add(" ORDER BY ");
  if (!group.key.empty()) sql.add(concat(group.key, query.order->is_ascending ? ", " : " DESC, "));
  sql.add("r.started DESC, r.id DESC LIMIT ?", {static_cast<std::int64_t>(most)});
  return sql;
}

ColumnValue key_of(const SqlValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

IndexedRun run_of(std::vector<SqlValue>& row, int rank) {
  const auto text = [&](std::size_t column) {
    auto* const value = std::get_if<std::string>(&row[column]);
    return value ? std::move(*value) : std::string();
  };
  IndexedRun run{.rank = rank, .key = key_of(row[1])};
  if (const auto* number = std::get_if<std::int64_t>(&row[0])) run.number = *number;
  if (const auto* seconds = std::get_if<double>(&row[2])) run.seconds = *seconds;
  run.id = text(3);
  run.command = text(4);
  run.status = text(5);
  run.output = text(6);
  run.started = text(7);
  return run;
}

}  // namespace

const SearchTarget& indexed_run_target() {
  static const SearchTarget kTarget = {
      .text_attributes = {"run_id", "command", "status", "output", "started"},
      .number_attributes = {"seconds"},
      .list_attributes = {"run_id", "command", "status"},
      .entities = {Entity::kMetric, Entity::kParam},
      .compares_params_by_number = true,
      .ordered_attributes = {"started"}};
  return kTarget;
}

bool run_comes_before(const IndexedRun& one, const IndexedRun& other,
                      const std::optional<SearchOrder>& order) {
  if (one.rank != other.rank) return one.rank < other.rank;
  if (one.key != other.key) return (one.key < other.key) == order->is_ascending;
  return std::tie(one.started, one.id, one.output) > std::tie(other.started, other.id, other.output);
}

Status RunIndex::check(const RunQuery& query) {
  for (OrderedGroup& group : groups_of(query.order))
    HEADRACE_CHECK(database_.check(select_of(query, std::move(group), query.most)));
  return {};
}

Result<std::vector<IndexedRun>> RunIndex::find(const RunQuery& query) {
  std::vector<IndexedRun> found;
  for (OrderedGroup& group : groups_of(query.order)) {
    const std::size_t left = query.most - found.size();
    if (left == 0) break;
    const int rank = group.rank;
    HEADRACE_TRY(auto rows, database_.rows(select_of(query, std::move(group), left)));
    for (auto& row : rows) found.push_back(run_of(row, rank));
  }
  return found;
}

}  // namespace headrace
