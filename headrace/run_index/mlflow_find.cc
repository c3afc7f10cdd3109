// MLflow's searches as SQL.

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/run_index/conditions.h"
#include "headrace/run_index/run_index.h"

namespace headrace {
namespace {

std::string mlflow_attribute(const std::string& key) {
  if (key == "run_id") return "r.id";
  if (key == "run_name") return "r.name";
  if (key == "user_id") return "r.user";
  if (key == "status") return "r.mlflow_status";
  return key == "start_time" ? "r.start_ms" : "r.end_ms";
}

constexpr ColumnPlaces kMlflowColumns = {mlflow_attribute, "mlflow_metrics", "mlflow_parameters"};

Sql list_of(const std::vector<std::string>& texts) {
  Sql sql{"("};
  for (const std::string& text : texts) sql.add(sql.values.empty() ? "?" : ", ?", {text});
  return sql.add(")");
}

void add_sql(Sql& sql, std::string_view before, Sql part) {
  sql.add(before).add(part.text, std::move(part.values));
}

// " FROM … WHERE …" for the runs in the given experiments and stages. MLflow's clients write no records of
// version 1.
Sql asked_runs(const MlflowQuery& query) {
  Sql sql{" FROM runs r WHERE NOT r.is_version_1"};
  add_sql(sql, " AND r.experiment IN ", list_of(query.experiments));
  if (query.wants_active && query.wants_deleted) return sql;
  add_sql(sql,
          query.wants_active ? " AND NOT (r.is_deleted OR r.experiment IN "
                             : " AND (r.is_deleted OR r.experiment IN ",
          list_of(query.deleted_experiments));
  return sql.add(")");
}

// The key of an order, and its rank: 0 for values, 1 for NaN, 2 if there is no value.
struct OrderKey {
  Sql value;
  Sql rank;
};

OrderKey key_of_order(const SearchColumn& column) {
  if (column.entity == Entity::kAttribute) {
    const std::string name = mlflow_attribute(column.key);
    return {{name}, {concat("(CASE WHEN ", name, " IS NULL THEN 2 ELSE 0 END)")}};
  }
  const std::string from =
      concat(" FROM ", kMlflowColumns.table_of(column.entity), " c WHERE c.run = r.number AND c.name = ?)");
  return {{concat("(SELECT c.value", from), {column.key}},
          {concat("coalesce((SELECT c.value IS NULL", from, ", 2)"), {column.key}}};
}

ColumnValue key_in_row(const SqlValue& value, std::int64_t rank) {
  if (rank == 1) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

}  // namespace

bool MlflowQuery::names_metrics() const {
  const auto is_metric = [](const SearchColumn& column) { return column.entity == Entity::kMetric; };
  return std::ranges::any_of(filter.clauses(), is_metric, &FilterClause::column) ||
         std::ranges::any_of(orders, is_metric, &SearchOrder::column);
}

Result<std::vector<FoundMlflowRun>> RunIndex::find_mlflow_runs(const MlflowQuery& query) {
  Sql sql{"SELECT r.number, r.id"};
  for (std::size_t i = 0; i < query.orders.size(); ++i) {
    OrderKey key = key_of_order(query.orders[i].column);
    add_sql(sql, ", ", std::move(key.value));
    add_sql(sql, concat(" AS k", i, ", "), std::move(key.rank));
    sql.add(concat(" AS p", i));
  }
  add_sql(sql, "", asked_runs(query));
  if (!query.changing_runs.empty()) add_sql(sql, " AND r.id NOT IN ", list_of(query.changing_runs));
  if (query.names_metrics()) sql.add(" AND r.points_kind != 0");
  add_sql(sql, "", conditions_of(query.filter, kMlflowColumns));
  sql.add(" ORDER BY ");
  for (std::size_t i = 0; i < query.orders.size(); ++i)
    sql.add(concat(i == 0 ? "p" : ", p", i, ", k", i, query.orders[i].is_ascending ? "" : " DESC"));
  sql.add(" LIMIT ?", {static_cast<std::int64_t>(query.most)});
  HEADRACE_TRY(const auto rows, database_.rows(sql));
  std::vector<FoundMlflowRun> found;
  for (const auto& row : rows) {
    FoundMlflowRun& run = found.emplace_back(FoundMlflowRun{integer_value(row[0]), text_value(row[1])});
    for (std::size_t i = 2; i + 1 < row.size(); i += 2)
      run.keys.push_back(key_in_row(row[i], integer_value(row[i + 1])));
  }
  return found;
}

Result<std::vector<FoundMlflowRun>> RunIndex::unsettled_mlflow_runs(const MlflowQuery& query,
                                                                    std::int64_t after, std::int64_t most) {
  Sql sql{"SELECT r.number, r.id"};
  add_sql(sql, "", asked_runs(query));
  add_sql(sql, " AND (r.id IN ", list_of(query.changing_runs));
  sql.add(query.names_metrics() ? " OR r.points_kind = 0)" : ")");
  sql.add(" AND r.number > ? ORDER BY r.number LIMIT ?", {after, most});
  HEADRACE_TRY(const auto rows, database_.rows(sql));
  std::vector<FoundMlflowRun> found;
  for (const auto& row : rows) found.push_back({integer_value(row[0]), text_value(row[1])});
  return found;
}

}  // namespace headrace
